r"""Other spellings of a value that Python does not read and nobody means otherwise, put into Python's own.

Only text in which no answer is found as it stands is read again so, and what stands in straight quotes is never
touched: no answer changes its value. Put right are typographic quotes around a text, the minus sign U+2212, blanks
that are no space, ``math.inf`` and ``math.nan`` (also of ``np`` and ``numpy``), LaTeX's ``\boxed{...}`` and the
signs of mathematics around it, and ``=``, ``->``, ``=>``, ``→`` and ``⇒`` between the asked call and its value.
"""

from __future__ import annotations

import ast
import re

from truegrade.extraction.equalities import find_calls, parse_call, same_arguments
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, Parser

_BLANKS = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
_NOTHING = "\u200b\u200c\u200d\u2060\ufeff"
_OTHER = re.compile(
    # Straight quotes first, closed or not, so that what they hold is passed over.
    r"""(?P<text>"[^"\\\n]*+(?:\\.[^"\\\n]*+)*"?|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*'?)"""
    r"""|[“”](?P<double>[^“”"\\\n]*+)[“”](?!\w)|[‘’](?P<single>[^‘’'\\\n]*+)[‘’](?!\w)"""
    r"|(?<![\w.])(?:math|np|numpy)\.(?P<named>inf|nan)\b|\u2212(?=[\d.in])"
    rf"|\\boxed\{{(?P<boxed>[^{{}}\n]*+)\}}|[{_BLANKS}]|[{_NOTHING}]"
)
_BOXED = re.compile(r"\\boxed\{(.*)\}", re.DOTALL)
_MATHEMATICS = re.compile(r"\A(?:\$\$?|\\[(\[])\s*|\s*(?:\$\$?|\\[)\]])\Z")
_HINT = re.compile(rf"[“”‘’\u2212\\→⇒$>{_BLANKS}{_NOTHING}]|(?<![=!<>])=(?!=)|\b(?:math|np|numpy)\.")
_SIGN = re.compile(r"[ \t]*+(?:=>?|->|→|⇒)(?![=>])[ \t]*+")


def respelled(text: str, asked: ast.Call | None = None, function: str = "") -> str:
    """The text in Python's spelling, or as it is; also where it is longer than `MAX_SOURCE_CHARS`.

    Args:
        text: an answer, without decoration.
        asked: the call whose value is asked for; only behind it a sign of mathematics counts as ``==``.
        function: its name.
    """
    if len(text) > MAX_SOURCE_CHARS or _HINT.search(text) is None or '"""' in text or "'''" in text:
        return text
    plain = _MATHEMATICS.sub("", text)
    boxed = _BOXED.fullmatch(plain)
    plain = _OTHER.sub(_plain, boxed[1] if boxed else plain)
    return plain if asked is None else _stated(plain, asked, function)


def _plain(match: re.Match[str]) -> str:
    if match["text"] is not None:
        return match["text"]
    if match["double"] is not None:
        return f'"{match["double"]}"'
    if match["single"] is not None:
        return f"'{match['single']}'"
    if match["named"] is not None:
        return match["named"]
    if match["boxed"] is not None:
        return match["boxed"]
    return {"\u2212": "-"}.get(match[0], "" if match[0] in _NOTHING else " ")


def _stated(text: str, asked: ast.Call, function: str) -> str:
    """The text with ``==`` behind the asked call where another sign says that it has a value."""
    parts, done = [], 0
    for call in reversed(find_calls(Parser(), text, function)):
        sign = _SIGN.match(text, call.end)
        written = parse_call(function, call.source[call.source.index("(") + 1 : -1]) if sign else None
        if sign is not None and written is not None and same_arguments(asked, written):
            parts += [text[done : call.end], " == "]
            done = sign.end()
    return "".join([*parts, text[done:]])
