"""Regular expressions mean the same in every supported Python."""

import re
import re._constants as codes
import re._parser as parser
import sys
from pkgutil import walk_packages

import truegrade
from truegrade.patterns import _Pattern

LOOKED_AT = tuple(f"truegrade.{name}." for name in ("analysis", "extraction", "grading", "profiles", "records"))


def of_several(pattern):
    """Whether it has an atomic group, or a possessive repeat of more than one character or class."""

    def nodes(found):
        for code, value in found:
            yield code, value
            for part in value if isinstance(value, tuple) else (value,):
                for each in part if isinstance(part, list) else (part,):
                    if isinstance(each, parser.SubPattern):
                        yield from nodes(each)

    single = {codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY}
    return any(
        code == codes.ATOMIC_GROUP
        or (code == codes.POSSESSIVE_REPEAT and (len(value[2]) != 1 or value[2][0][0] not in single))
        for code, value in nodes(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG))
    )


def test_no_pattern_has_what_python_3_11_0_to_3_11_4_match_wrongly():
    # python/cpython#106052: they go back into a possessive repeat, or an atomic group, of alternatives.
    assert of_several(re.compile(r"(?:a|bc)*+d")) and of_several(re.compile(r"x(?>a|ab)"))
    assert not of_several(re.compile(r"[ab]*+(?:\\.[^b]*+)*c++."))
    for package in walk_packages(truegrade.__path__, "truegrade."):
        if package.name.startswith(LOOKED_AT):
            __import__(package.name)
    wrong = {
        f"{module}.{name}"
        for module, loaded in list(sys.modules.items())
        if module.startswith("truegrade.")
        for name, value in vars(loaded).items()
        if isinstance(value, (re.Pattern, _Pattern)) and of_several(value)
    }
    assert wrong == set()
