"""Rules of the family ``words``: a word of the statement and a place of the reference say the same; both change.

A rule applies where the statement says the word in one sense only and the reference has one place that fits.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from truegrade.apps.changed import material as places
from truegrade.apps.changed.material import ChangeRule, Edit, Material, Proposal

Places = Callable[[ast.Module, bool], int]
"""Changes every fitting place of a tree and says how many; forward is from the first word of a pair."""
_MOST_OCCURRENCES = 2
_MOST_WORDS = 80
"""In longer prose a word may speak of something else than the one place of the reference that fits."""


class Words(NamedTuple):
    """Words that can stand for each other once the program is changed."""

    name: str
    kind: str
    summary: str
    pairs: Sequence[tuple[str, str]]
    """Regular expression of a word, and the word for the other side; the next pair may lead back."""
    forward: int
    """How many of the pairs lead forward; the others lead back."""
    change: Places
    stems: Mapping[str, str] = {}
    """Parts of function names and what they become, forward."""
    unless: str = r"(?!)"
    """The rule does not apply where the prose matches."""
    most_words: int = _MOST_WORDS
    """The rule does not apply to longer prose."""

    def rule(self) -> ChangeRule:
        """As every other rule."""
        return ChangeRule(self.name, self.kind, "words", self.summary, self.propose)

    def propose(self, material: Material) -> Proposal | None:
        """Find the words, then the place."""
        found = self._found(material)
        if found is None or material.says(self.unless) or len(material.prose.split()) > self.most_words:
            return None
        edits, forward = found
        tree = material.tree()
        if self.change(tree, forward) != 1:
            return None
        name = self._renamed(material.entry_point, forward)
        if name is None:
            return None
        if name != material.entry_point:
            rename(tree, material.entry_point, name)
            edits += name_edits(material, name)
        ast.fix_missing_locations(tree)
        return Proposal(ast.unparse(tree), tuple(sorted(edits)), name)

    def _found(self, material: Material) -> tuple[list[Edit], bool] | None:
        """The edits of the prose and their direction; None where the words stand elsewhere, too, or both ways."""
        edits, senses = [], set()
        taken: set[int] = set()
        for number, (pattern, other) in enumerate(self.pairs):
            for match in re.finditer(rf"\b(?:{pattern})\b", material.prose, re.IGNORECASE):
                if taken & set(range(*match.span())):
                    continue
                taken |= set(range(*match.span()))
                edits.append(worded(material, match.start(), match.end(), match.expand(other)))
                senses.add(number < self.forward)
        outside = material.statement.prompt[: material.statement.start].replace(f"{material.entry_point}(", "(")
        elsewhere = any(re.search(rf"\b(?:{one})\b", outside, re.IGNORECASE) for one, _ in self.pairs)
        if len(senses) != 1 or len(edits) > _MOST_OCCURRENCES or elsewhere:
            return None
        return edits, senses.pop()

    def _renamed(self, name: str, forward: bool) -> str | None:
        """The function's name where it says the word, too; None where it cannot be told apart."""
        stems = self.stems if forward else {other: stem for stem, other in self.stems.items()}
        parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+|_+", name)
        new = "".join(_like(stems[part.lower()], part) if part.lower() in stems else part for part in parts)
        said = [stem for stem in stems if stem in new.lower().replace("_", "")]
        return None if said else new


def _like(word: str, part: str) -> str:
    """The word in the case of a part of a name."""
    if part.isupper() and len(part) > 1:
        return word.upper()
    return word.capitalize() if part[0].isupper() else word


def worded(material: Material, start: int, end: int, word: str) -> Edit:
    """Put a word at a place of the prose, with its capital and the article ahead of it."""
    begin = material.statement.start
    old = material.prose[start:end]
    if old[:1].isupper():
        word = word[:1].upper() + word[1:]
    article = re.search(r"\b(an?)\s+$", material.prose[:start], re.IGNORECASE)
    if article is not None and old[0].lower() != word[0].lower():
        right = "an" if word[0].lower() in "aeiou" else "a"
        if right != article[1].lower():
            gap = material.prose[article.end(1) : start]
            return (
                begin + article.start(1),
                begin + end,
                (right.capitalize() if article[1][0] == "A" else right) + gap + word,
            )
    return begin + start, begin + end, word


def rename(tree: ast.Module, old: str, new: str) -> None:
    """Give a function another name wherever the program says it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == old:
            node.name = new
        elif isinstance(node, ast.Name) and node.id == old:
            node.id = new
        elif isinstance(node, ast.Attribute) and node.attr == old:
            node.attr = new


def name_edits(material: Material, new: str) -> list[Edit]:
    """The edits that give the function another name in the prompt."""
    pattern = rf"\b{re.escape(material.entry_point)}\b"
    return [(*match.span(), new) for match in re.finditer(pattern, material.statement.prompt)]


def _pairs(*words: tuple[str, str]) -> tuple[list[tuple[str, str]], int]:
    """Words that lead both ways."""
    return [*words, *((other, word) for word, other in words)], len(words)


_EXTREMES, _EXTREMES_FORWARD = _pairs(
    ("largest", "smallest"),
    ("maximum", "minimum"),
    ("highest", "lowest"),
    ("longest", "shortest"),
    ("biggest", "smallest"),
    ("greatest", "smallest"),
    ("max", "min"),
    ("maximal", "minimal"),
)
_ORDERS, _ORDERS_FORWARD = _pairs(
    ("ascending", "descending"), ("increasing", "decreasing"), ("non-decreasing", "non-increasing")
)
_CASES, _CASES_FORWARD = _pairs(
    ("uppercase", "lowercase"),
    ("upper case", "lower case"),
    ("upper-case", "lower-case"),
    ("upper", "lower"),
    ("capital", "small"),
)
_ENDS, _ENDS_FORWARD = _pairs(
    ("starts with", "ends with"),
    ("start with", "end with"),
    ("starting with", "ending with"),
    ("begins with", "ends with"),
    ("prefix", "suffix"),
    ("prefixes", "suffixes"),
)
_BOUNDARIES = [
    (
        r"(?:strictly )?(less|smaller|lower|greater|larger|bigger|longer|shorter) than(?! or equal)",
        r"\1 than or equal to",
    ),
    (r"more than", "at least"),
    (r"fewer than", "at most"),
    (r"(less|smaller|greater|larger) than or equal to", r"\1 than"),
    (r"at least", "more than"),
    (r"at most", "less than"),
    (r"no more than", "less than"),
    (r"no less than", "more than"),
]
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}

WORD_RULES: tuple[ChangeRule, ...] = tuple(
    words.rule()
    for words in (
        Words(
            "extreme",
            "extreme",
            "largest for smallest, in max, min, sorted()[0] or a search with one comparison",
            _EXTREMES,
            _EXTREMES_FORWARD,
            places.extremes,
            {
                "max": "min",
                "maximum": "minimum",
                "largest": "smallest",
                "longest": "shortest",
                "highest": "lowest",
                "biggest": "lowest",
            },
            r"common (?:divisor|factor)|possible|heap|\bat (?:most|least)\b",
        ),
        Words(
            "order",
            "order",
            "ascending for descending, in one sort",
            _ORDERS,
            _ORDERS_FORWARD,
            places.order,
            {"ascending": "descending", "increasing": "decreasing"},
            r"sorted (?:array|list)s?\b|(?:already|is|are|been) sorted|monoton",
        ),
        Words(
            "parity",
            "boundary",
            "even for odd, in one test of a remainder by 2 or one step of 2",
            [(r"even(?! (?:if|though|when))", "odd"), ("odd", "even")],
            1,
            places.parity,
            {"even": "odd"},
            r"\bsum of\b.*\b(?:even|odd)\b|written|represent|express|till|bit",
        ),
        Words(
            "boundary",
            "boundary",
            "less than for at most, in the one comparison",
            _BOUNDARIES,
            3,
            places.boundary,
            {},
            r"\bsame\b|\bequals?\b(?! to\b)|\bties?\b",
        ),
        Words(
            "sign",
            "boundary",
            "positive for negative numbers, in the one comparison with 0",
            [
                (r"positive(?= (?:numbers|integers|elements|values)\b)", "negative"),
                (r"negative(?= (?:numbers|integers|elements|values)\b)", "positive"),
            ],
            1,
            places.sign,
            {"positive": "negative", "pos": "neg"},
            r"\bfirst\b",
        ),
        Words(
            "end",
            "order",
            "first for last, in one index, slice or search",
            *_pairs(("first", "last")),
            places.ends,
            {"first": "last"},
            r"second|third|next|first and last|first [nk] |number",
        ),
        Words(
            "affix",
            "order",
            "starts with for ends with, in one call",
            _ENDS,
            _ENDS_FORWARD,
            places.affix,
            {"start": "end", "starts": "ends", "prefix": "suffix", "prefixes": "suffixes"},
        ),
        Words(
            "letter-case",
            "role",
            "upper case for lower case, in one method",
            _CASES,
            _CASES_FORWARD,
            places.letter_case,
            {"upper": "lower", "uppercase": "lowercase"},
        ),
        Words(
            "vowels",
            "role",
            "vowels for every other character, in one membership test",
            [("vowels", "characters other than vowels"), ("vowel", "character other than a vowel")],
            2,
            places.vowels,
            {"vowel": "other", "vowels": "others"},
            r"consonant|upper|lower|capital",
        ),
        Words(
            "rounding",
            "rounding",
            "rounding down for rounding up, in floor and ceil",
            *_pairs(("floor", "ceiling"), ("rounded down", "rounded up"), ("round down", "round up")),
            places.rounding,
            {"floor": "ceil", "down": "up"},
        ),
        Words(
            "quantifier",
            "boundary",
            "all for at least one, in all()",
            [(r"all(?: of)?(?: the)?(?= \w+s\b)", "at least one of the")],
            1,
            places.quantifier,
            {"all": "any", "every": "any"},
            r"\bany\b|\bfind all\b",
        ),
        Words(
            "combination",
            "role",
            "sum for product, in sum() or one running total",
            [(r"sum(?= of)", "product"), (r"product(?= of)", "sum")],
            1,
            places.combination,
            {"sum": "product", "add": "multiply"},
            r"\bempty\b|\bsums\b|\bproducts\b|(?:cube|square|product|sum) (?:sum|product)|"
            r"(?:sum|product) of (?:sum|product)",
            24,
        ),
        Words(
            "difference",
            "role",
            "difference for sum, in the one subtraction",
            [("difference (?:between|of)", "sum of")],
            1,
            places.difference,
            {"diff": "sum", "difference": "sum"},
            "absolute|symmetric|common",
        ),
        Words(
            "power",
            "role",
            "squares for cubes, in the one power",
            [
                (r"squares(?= of)", "cubes"),
                ("squared", "cubed"),
                (r"cubes(?= of)", "squares"),
                ("cubed", "squared"),
            ],
            2,
            places.power,
            {"square": "cube", "squares": "cubes", "squared": "cubed"},
        ),
    )
)
_CONTEXT = (
    r"\b(?:divisible by|multiples? of|divided by|at least|at most|"
    r"(?:more|less|greater|larger|longer|shorter|smaller) than|length(?: of)?|every|rounded to|round to|"
    r"first|last|top|up to|exactly|power of)\s+(?P<number>\d+|" + "|".join(_NUMBERS) + r")\b(?! or )"
)


def _number(material: Material) -> Proposal | None:
    """One more, where the prose and the reference say a number once."""
    shown = re.findall(r"\d+|\b(?:" + "|".join(_NUMBERS) + r")\b", material.prose, re.IGNORECASE)
    match = re.search(_CONTEXT, material.prose, re.IGNORECASE)
    if (
        match is None
        or len(shown) != 1
        or len(material.prose.split()) > _MOST_WORDS
        or material.says("decimal|binary|digit|bits?|hour|minute|angle|degree")
    ):
        return None
    text = match["number"]
    value = _NUMBERS.get(text.lower(), int(text) if text.isdigit() else 0)
    tree = material.tree()
    if (
        value < 2
        or places.constant(tree, value) != 1
        or re.search(rf"{value}|{text.lower()}", material.entry_point.lower())
    ):
        return None
    words = {number: word for word, number in _NUMBERS.items()}
    new = words.get(value + 1, str(value + 1)) if not text.isdigit() else str(value + 1)
    edit = worded(material, match.start("number"), match.end("number"), new)
    return Proposal(ast.unparse(tree), (edit,), material.entry_point)


NUMBER = ChangeRule(
    "number", "boundary", "words", "a number that prose and reference say once, made one larger", _number
)
