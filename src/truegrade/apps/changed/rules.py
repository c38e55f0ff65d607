"""The rules by which problems are changed: the table, and the family ``sentence``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from truegrade.apps.changed.material import ChangeRule, Material, Proposal, expression, own_returns
from truegrade.apps.changed.word_rules import NUMBER, WORD_RULES
from truegrade.errors import UnknownName
from truegrade.files import syntax

# ----------------------------------------------------------------------------------------------------------------
# Rules of the family ``sentence``: one more demand that is clear for any reference, in a sentence of its own.
# The reference gets the same: its returned expressions change or, ahead of its first statement, a parameter.
# Those that exchange what is there, parameters or truth values, edit the statement and add nothing.

_ORDERED = r"sort|order|ascending|descending|increasing|decreasing|rearrange|revers|rotat|permut"
_SENTINEL = r"\bnone\b|-1\b|otherwise|\bif (?:there|no|not)\b|empty|error|invalid|not found|impossible"


_SHAPE = (
    r"\binde|indic|position|remov|insert|rotat|heap|length|\bpairs?\b|permut|empty|\bn\b|\bsize|matrix|\brows?\b|"
    r"tree"
)
"""Prose that may no longer hold where an argument is shorter."""
_MOST_WORDS = 60
"""In longer prose more is said of an argument than can be looked through for what would no longer hold."""
_NO_NUMBER = (
    r"^(?!(?s:.*)\b(?:count|number of|sum|product|nth|n-?th|length|maximum|minimum|area|volume|perimeter|"
    r"difference|average|total|frequency|power|factorial|how many|largest|smallest|median|index|number that|"
    r"value)\b)|\bprints?\b"
)
"""Prose that names no number, to which a further sentence could refer."""
_NO_TEXT = r"^(?!(?s:.*)\b(?:strings?|texts?|words?|sentences?|characters?)\b)"
"""Prose that names no text."""


class ResultDemand(NamedTuple):
    """A demand on the value that is returned."""

    name: str
    kind: str
    summary: str
    fits: Callable[[Sequence[Any]], bool]
    """Of the values that the reference returns."""
    becomes: str
    """Source of the new expression; ``VALUE`` is the old one."""
    sentence: str
    unless: str

    def rule(self) -> ChangeRule:
        """As every other rule."""
        return ChangeRule(self.name, self.kind, "sentence", self.summary, self.propose, on_result=True)

    def propose(self, material: Material) -> Proposal | None:
        """Change every value that the function returns itself."""
        if material.is_recursive or not self.fits(material.values) or material.says(self.unless):
            return None
        tree = material.tree()
        if not _returns(material, tree, self.becomes):
            return None
        edit = material.statement.inserted(self.sentence)
        return Proposal(ast.unparse(tree), (edit,), material.entry_point)


class ArgumentDemand(NamedTuple):
    """A demand on how one argument is taken."""

    name: str
    kind: str
    summary: str
    fits: Callable[[Sequence[Any]], bool]
    """Of the values that the tests pass for the parameter."""
    becomes: str
    """Source of the new argument; ``GIVEN`` is the parameter, ``TYPE`` its type."""
    sentence: str
    """``NOUN`` is what the statement calls the argument."""
    unless: str

    def rule(self) -> ChangeRule:
        """As every other rule."""
        return ChangeRule(self.name, self.kind, "sentence", self.summary, self.propose)

    def propose(self, material: Material) -> Proposal | None:
        """Change the one parameter that fits."""
        parameters = material.parameters()
        fitting = [name for name, values in parameters.items() if values and self.fits(values)]
        alike = [
            name
            for name, values in parameters.items()
            if any(isinstance(one, list | tuple | str | dict) for one in values)
        ]
        if len(fitting) != 1 or alike != fitting or material.is_recursive or material.says(self.unless):
            return None
        if len(material.prose.split()) > _MOST_WORDS:
            return None
        values = parameters.pop(fitting[0])
        if any(_is_a_length(other, values) for other in parameters.values()):
            return None
        tree = material.tree()
        function = material.function(tree)
        if function is None:
            return None
        source = self.becomes.replace("GIVEN", fitting[0]).replace("TYPE", type(values[0]).__name__)
        documented = 1 if ast.get_docstring(function) is not None else 0
        function.body.insert(documented, syntax.parse(f"{fitting[0]} = {source}").body[0])
        ast.fix_missing_locations(tree)
        sentence = self.sentence.replace("NOUN", _noun(material, values[0]))
        return Proposal(ast.unparse(tree), (material.statement.inserted(sentence),), material.entry_point)


def _returns(material: Material, tree: ast.Module, becomes: str) -> bool:
    """Put every returned value into an expression; False where the function returns nothing at some place."""
    function = material.function(tree)
    returns = list(own_returns(function)) if function is not None else []
    if not returns or any(one.value is None or _is_fixed_text(one.value) for one in returns):
        return False
    for one in returns:
        one.value = expression(becomes.replace("VALUE", f"({ast.unparse(one.value or ast.Constant(None))})"))
    return True


def _is_fixed_text(node: ast.expr) -> bool:
    """Whether a returned text stands in the program: a word such as YES, which nothing should be done to."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(node.value)


def _noun(material: Material, value: Any) -> str:
    """What the statement calls an argument; else what it is."""
    words: dict[type, tuple[str, ...]] = {list: ("list", "array"), tuple: ("tuple",)}
    known = words.get(type(value), ("string", "word", "sentence", "text"))
    said = [noun for noun in known if material.says(rf"\b{noun}\b")]
    return said[0] if said else known[0]


def _is_a_length(values: Sequence[Any], lists: Sequence[Any]) -> bool:
    """Whether a parameter may say how long the other is, or where in it something stands."""
    return any(type(one) is int for one in values) and all(
        type(one) is int and 0 <= one <= len(given) for one, given in zip(values, lists, strict=True)
    )


def _all_are(*kinds: type) -> Callable[[Sequence[Any]], bool]:
    return lambda values: len({type(one) for one in values}) == 1 and type(values[0]) in kinds


def _texts(values: Sequence[Any]) -> bool:
    """Texts, and not those of lists or numbers."""
    return _all_are(str)(values) and not any(sign in one for one in values for sign in "[]{}()")


def _flat(values: Sequence[Any]) -> bool:
    """One kind of sequence, of numbers or of texts."""
    items = [item for one in values for item in one] if _all_are(list, tuple)(values) else []
    return bool(items) and all(type(item) in {int, float, str} for item in items)


def _numbers(values: Sequence[Any]) -> bool:
    return _flat(values) and all(type(item) in {int, float} for one in values for item in one)


def _whole(values: Sequence[Any]) -> bool:
    return all(type(one) is int and one >= 0 for one in values) and len(set(values)) > 1


RETURNED: tuple[ChangeRule, ...] = tuple(
    rule.rule()
    for rule in (
        ResultDemand(
            "reversed-result",
            "order",
            "the elements of the result in reverse order",
            _all_are(list),
            "VALUE[::-1]",
            "The list that is returned is the one asked for in reverse order.",
            rf"{_ORDERED}|\bfrom\b.*\bto\b|\bstring that|\bfirst\b",
        ),
        ResultDemand(
            "reversed-text",
            "order",
            "the characters of the result in reverse order",
            _texts,
            "VALUE[::-1]",
            "The string that is returned is the one asked for with its characters in reverse order.",
            rf"{_ORDERED}|['\"]\w|yes|binary|valid|hex|roman|time|date|md5|{_SENTINEL}|{_NO_TEXT}",
        ),
        ResultDemand(
            "upper-text",
            "role",
            "the result in upper case",
            _texts,
            "VALUE.upper()",
            "The string that is returned is the one asked for in upper case.",
            rf"case|capital|upper|lower|md5|['\"]\w|{_SENTINEL}|{_NO_TEXT}",
        ),
        ResultDemand(
            "last-digit",
            "rounding",
            "only the last decimal digit of the result",
            _whole,
            "VALUE % 10",
            "What is returned is only the last decimal digit of the number asked for.",
            rf"digit|bit|binary|modulo|{_SENTINEL}|{_NO_NUMBER}",
        ),
        ResultDemand(
            "doubled",
            "role",
            "twice the result",
            _whole,
            "2 * VALUE",
            "What is returned is twice the number asked for.",
            rf"twice|double|binary|bit|modulo|{_SENTINEL}|{_NO_NUMBER}",
        ),
        ResultDemand(
            "negative-result",
            "role",
            "the negative of the result",
            _whole,
            "-VALUE",
            "What is returned is the negative of the number asked for, so -5 in place of 5.",
            rf"negative|sign|binary|modulo|{_SENTINEL}|{_NO_NUMBER}",
        ),
    )
)
GIVEN: tuple[ChangeRule, ...] = tuple(
    rule.rule()
    for rule in (
        ArgumentDemand(
            "skipped-first",
            "boundary",
            "the first element of the argument is ignored",
            _flat,
            "GIVEN[1:]",
            "Ignore the first element of the given NOUN.",
            rf"\bfirst\b|{_SHAPE}",
        ),
        ArgumentDemand(
            "skipped-last",
            "boundary",
            "the last element of the argument is ignored",
            _flat,
            "GIVEN[:-1]",
            "Ignore the last element of the given NOUN.",
            rf"\blast\b|\bend\b|{_SHAPE}",
        ),
        ArgumentDemand(
            "distinct",
            "role",
            "an element that occurs again is ignored",
            _flat,
            "TYPE(dict.fromkeys(GIVEN))",
            "Ignore every element of the given NOUN that has already occurred in it.",
            r"duplicate|distinct|unique|occur|frequen|inde|indic|position|times|repeat|count|pairs?",
        ),
        ArgumentDemand(
            "negatives-ignored",
            "boundary",
            "negative numbers of the argument are ignored",
            _numbers,
            "TYPE(item for item in GIVEN if item >= 0)",
            "Ignore the negative numbers in the given NOUN.",
            r"negative|positive|\binde|position|natural|sub-?array|subsequence|sequence|product|consecutive|adjacent",
        ),
        ArgumentDemand(
            "case-ignored",
            "role",
            "capital letters become small ones first",
            _all_are(str),
            "GIVEN.lower()",
            "First turn every capital letter of the given NOUN into a small letter.",
            r"case|capital|upper|lower|\bsmall|letters from",
        ),
        ArgumentDemand(
            "skipped-character",
            "boundary",
            "the first character of the argument is ignored",
            _all_are(str),
            "GIVEN[1:]",
            "Ignore the first character of the given NOUN.",
            r"\bfirst\b|\binde|position|start|begin|valid|remov|date|email|format|time|binary|prefix|paren|bracket|empty",
        ),
    )
)


def _truth(material: Material) -> Proposal | None:
    """True for False and the other way round, where the statement says which of them is returned when."""
    if material.is_recursive or not _all_are(bool)(material.values):
        return None
    if not material.says(r"\breturns?\s+(?:true|false)\b") or material.says(r"\breturns?\s+whether\b"):
        return None
    tree = material.tree()
    if not _returns(material, tree, "not VALUE"):
        return None
    start = material.statement.start
    other = {"True": "False", "False": "True", "true": "false", "false": "true"}
    found = re.finditer(r"\b(?:true|false)\b", material.prose, re.IGNORECASE)
    edits = [(start + one.start(), start + one.end(), other[one[0]]) for one in found if one[0] in other]
    return Proposal(ast.unparse(tree), tuple(edits), material.entry_point)


def _complement(material: Material) -> Proposal | None:
    """False where the statement's question is answered by yes."""
    asks = r"\b(?:check|find|determine|identify|verify)\s+(?:if|whether)\b"
    if material.is_recursive or not _all_are(bool)(material.values) or not material.says(asks):
        return None
    tree = material.tree()
    if material.says(r"\b(?:true|false|not|boolean)\b") or not _returns(material, tree, "not VALUE"):
        return None
    edit = material.statement.inserted("Return False if this is the case and True if it is not.")
    return Proposal(ast.unparse(tree), (edit,), material.entry_point)


def _exchanged(material: Material) -> Proposal | None:
    """The two parameters change places in the signature; the prose, which calls them by name, stays."""
    names = list(material.parameters())
    statement = material.statement
    head = statement.prompt[: statement.start]
    values = material.parameters()
    if len(names) != 2 or material.is_recursive or any(call.case.kwargs for call in material.calls):
        return None
    if not all(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", material.prose) for name in names):
        return None
    if [type(one) for one in values[names[0]]] != [type(one) for one in values[names[1]]]:
        return None
    signature = re.search(rf"def {re.escape(material.entry_point)}\(([^()]*)\)", head)
    if signature is None or "=" in signature[1] or material.says(r"\bfirst\b|\bsecond\b|\border\b"):
        return None
    parts = _split(signature[1])
    tree = material.tree()
    function = material.function(tree)
    if len(parts) != 2 or function is None:
        return None
    function.args.args.reverse()
    edit = (signature.start(1), signature.end(1), ", ".join(reversed(parts)))
    return Proposal(ast.unparse(tree), (edit,), material.entry_point)


def _split(parameters: str) -> list[str]:
    """The parameters of a signature; commas inside brackets part none."""
    parts, depth = [""], 0
    for sign in parameters:
        depth += (sign in "[(") - (sign in "])")
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


EXCHANGED = ChangeRule(
    "exchanged-parameters", "role", "words", "the two parameters change places in the signature", _exchanged
)
TRUTH = ChangeRule(
    "truth", "role", "words", "True for False in the sentence that says what is returned when", _truth
)
COMPLEMENT = ChangeRule(
    "complement", "role", "sentence", "False where the question is answered by yes", _complement, on_result=True
)


RULES: tuple[ChangeRule, ...] = (*WORD_RULES, NUMBER, EXCHANGED, TRUTH, *GIVEN, *RETURNED, COMPLEMENT)
"""Every rule; those of the family ``words`` come first."""


def rules_named(names: Sequence[str] | None) -> tuple[ChangeRule, ...]:
    """The rules of these names; all without any.

    Raises:
        UnknownName: there is no such rule.
    """
    known = {rule.name: rule for rule in RULES}
    for name in names or ():
        if name not in known:
            raise UnknownName("change rule", name, known)
    return tuple(known[name] for name in names) if names else RULES
