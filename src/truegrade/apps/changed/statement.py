"""The statement of a problem, its prose and examples; tests as calls with plain values."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec

from truegrade.datasets.executions import RecordedCase, literal_text
from truegrade.errors import TruegradeError
from truegrade.extraction import parsing
from truegrade.extraction.parsing import quietly
from truegrade.files import syntax
from truegrade.grading.programs import statements, stub

# ---------- Tests as calls with plain values, and calls as tests: what a changed problem keeps are the inputs.

CANDIDATE = "candidate"
"""The parameter of ``check`` in the tests of HumanEval and LeetCodeDataset."""
TOLERANCE = "1e-06"
"""Absolute tolerance of new tests whose value is a float."""
_WRAPPERS = frozenset({"set", "sorted", "tuple", "list", "frozenset"})
_MAX_CHARS = 20_000


class TestCall(msgspec.Struct, frozen=True):
    """One call of the tests."""

    case: RecordedCase
    wrapper: str = ""
    """Built-in function that the test puts around the value, such as ``set``; empty for none."""

    def assertion(self, function: str, value: str) -> str:
        """The test that the call returns a value, given as a literal."""
        call = self.call(function)
        if self.wrapper:
            return f"assert {self.wrapper}({call}) == {self.wrapper}({value})"
        if isinstance(syntax.literal_eval(value), float):
            return f"assert abs({call} - {value}) < {TOLERANCE}"
        return f"assert {call} == {value}"

    def call(self, function: str) -> str:
        """``f(1, k=2)``."""
        args = [literal_text(value, _MAX_CHARS) or "" for value in self.case.args]
        args += [f"{name}={literal_text(value, _MAX_CHARS)}" for name, value in self.case.kwargs.items()]
        return f"{function}({', '.join(args)})"


def calls_of_tests(tests: str, function: str) -> list[TestCall]:
    """The calls of the assertions that compare one call with plain arguments, each call once.

    Args:
        tests: source: top-level assertions, or the assertions of a function ``check(candidate)``.
        function: the function under test.
    """
    found: dict[str, TestCall] = {}
    for node in _assertions(tests):
        calls = [
            one
            for one in ast.walk(node)
            if isinstance(one, ast.Call) and _function_name(one) in {function, CANDIDATE}
        ]
        if len(calls) == 1 and (case := case_of(calls[0])) is not None:
            one = TestCall(case, _wrapper(node, calls[0]))
            found.setdefault(one.call(function), one)
    return list(found.values())


def case_of(call: ast.Call) -> RecordedCase | None:
    """The arguments of a call; None where one is no literal, or too long to be written again."""
    try:
        args = tuple(syntax.literal_eval(value) for value in call.args)
        kwargs = {str(given.arg): syntax.literal_eval(given.value) for given in call.keywords if given.arg}
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    if len(kwargs) < len(call.keywords):
        return None
    written = all(literal_text(value, _MAX_CHARS) is not None for value in (*args, *kwargs.values()))
    return RecordedCase(args=args, kwargs=kwargs) if written else None


def is_plain(value: str) -> bool:
    """Whether a literal can be compared by ``==``, or is a float: no float stands inside a container."""
    read = parsing.parse_literal(value)
    return isinstance(read, parsing.Literal) and (isinstance(read.value, float) or not _holds_float(read.value))


def as_tests(calls: list[TestCall], values: list[str], function: str, *, check: bool) -> str:
    """The test source.

    Args:
        calls: of the tests.
        values: what each must return, as literals.
        function: the function under test.
        check: a function ``check(candidate)`` that is called with it; else top-level assertions.
    """
    if not check:
        return "\n".join(one.assertion(function, value) for one, value in zip(calls, values, strict=True))
    lines = [f"    {one.assertion(CANDIDATE, value)}" for one, value in zip(calls, values, strict=True)]
    return "\n".join([f"def check({CANDIDATE}):", *lines, "", "", f"check({function})"])


def has_check(tests: str) -> bool:
    """Whether the tests stand in a function ``check``."""
    return any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in statements(tests))


def _assertions(tests: str) -> Iterator[ast.Assert]:
    for node in statements(tests):
        inside = node.body if isinstance(node, ast.FunctionDef) and node.name == "check" else [node]
        yield from (one for one in inside if isinstance(one, ast.Assert))


def _function_name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ast.unparse(call.func)


def _wrapper(test: ast.Assert, call: ast.Call) -> str:
    match test.test:
        case ast.Compare(left=ast.Call(func=ast.Name(id=name), args=[inner]), ops=[ast.Eq()]) if inner is call:
            return name if name in _WRAPPERS else ""
    return ""


def _holds_float(value: Any) -> bool:
    if isinstance(value, float | complex):
        return True
    items = value.values() if isinstance(value, dict) else value
    return not isinstance(value, str | bytes) and hasattr(items, "__iter__") and any(map(_holds_float, items))


Style = Literal["python", "json"]
Form = Literal["docstring", "text", "method"]
"""``docstring``: of the function in code to continue. ``text``: the whole prompt. ``method``: words around it,
and the class to complete (LeetCodeDataset)."""


class NotChanged(TruegradeError):
    """A problem, or one change of it, that comes to nothing; says why, what is particular behind a colon."""


class Example(msgspec.Struct, frozen=True):
    """A call in the prose and the value shown for it."""

    case: RecordedCase
    shown: str
    """The value as a Python literal."""
    start: int
    """Where the value stands in the prompt, and where it ends."""
    end: int
    begins: int
    """Where the example begins."""
    style: Style = "python"


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt, parted into prose and examples; offsets are of the prompt."""

    prompt: str
    start: int
    """Where the prose begins: of a docstring, or of the whole prompt."""
    end: int
    examples: tuple[Example, ...]
    insertion: int
    """Where a further sentence belongs: ahead of the examples, or at the end."""
    indent: str
    """Ahead of a line of its own; empty where a sentence follows on the same line."""
    dropped: tuple[tuple[int, int], ...] = ()
    """Explanations of examples, which would no longer be true."""

    @property
    def prose(self) -> str:
        """The prose, its examples and dropped explanations blank; as long as the part of the prompt."""
        text = list(self.prompt[self.start : self.end])
        holes = [(one.begins, one.end) for one in self.examples] + list(self.dropped)
        for begin, end in holes:
            for place in range(begin - self.start, end - self.start):
                text[place] = "\n" if text[place] == "\n" else " "
        return "".join(text)

    def inserted(self, sentence: str) -> tuple[int, int, str]:
        """The edit that adds a sentence."""
        if self.indent:
            return self.insertion, self.insertion, f"{self.indent}{sentence}\n"
        before = self.prompt[: self.insertion].rstrip()
        stop = "" if before.endswith((".", "?", "!", ":")) else "."
        return len(before), self.insertion, f"{stop} {sentence}{self.prompt[len(before) : self.insertion]}"


def read_statement(prompt: str, function: str, form: Form) -> Statement:
    """Find prose and examples.

    Args:
        prompt: of the problem.
        function: the function to write.
        form: where the prose stands.

    Raises:
        NotChanged: there is no prose, or an example in a form that is not read here.
    """
    if form == "method":
        return _of_method(prompt)
    start, end = _docstring(prompt, function) if form == "docstring" else (0, len(prompt))
    examples = _calls(prompt, start, end, function)
    said = Statement(prompt=prompt, start=start, end=end, examples=tuple(examples), insertion=end, indent="")
    _refuse_unread(said.prose, function)
    if form == "text":
        return said
    return msgspec.structs.replace(said, **_place(prompt, start, end, examples))


def render_value(value: str, like: str, style: Style) -> str:
    """A value as the example wrote it: with its quotation marks, or as JSON.

    Raises:
        NotChanged: JSON cannot hold it.
    """
    if style == "json":
        try:
            return json.dumps(syntax.literal_eval(value), separators=(",", ":"))
        except (TypeError, ValueError):
            raise NotChanged("an example's value is not JSON") from None
    if '"' in like and '"' not in value:
        return value.replace("'", '"')
    return value


# ----------------------------------------------------------------------------------------------- docstrings


def _docstring(prompt: str, function: str) -> tuple[int, int]:
    """Where the text between the quotes of the function's docstring begins and ends."""
    with quietly():
        try:
            body = syntax.parse(stub(prompt)).body
        except SyntaxError:
            raise NotChanged("the prompt is no Python") from None
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name == function and ast.get_docstring(node) is not None:
            said = node.body[0]
            lines = prompt.splitlines(keepends=True)
            begin = sum(map(len, lines[: said.lineno - 1])) + said.col_offset
            end = sum(map(len, lines[: (said.end_lineno or 0) - 1])) + (said.end_col_offset or 0)
            if prompt[begin : begin + 3] in {'"""', "'''"} and prompt[end - 3 : end] in {'"""', "'''"}:
                return begin + 3, end - 3
    raise NotChanged("the prompt has no docstring")


def _place(prompt: str, start: int, end: int, examples: Iterable[Example]) -> dict[str, object]:
    """Where a sentence goes: the line of the first example, or of the words that announce it; else the last."""
    indent = re.match(r"[ \t]*", prompt[prompt.rfind("\n", 0, end) + 1 :])
    margin = indent.group() if indent else "    "
    first = min((one.begins for one in examples), default=None)
    if first is None:
        line = prompt.rfind("\n", 0, end) + 1
        if prompt[line:end].strip():  # the closing quotes stand behind the last words
            return {"insertion": end, "indent": ""}
        return {"insertion": line, "indent": margin}
    line = prompt.rfind("\n", 0, first) + 1
    if line <= start:
        return {"insertion": first, "indent": ""}
    while True:
        above = prompt.rfind("\n", 0, line - 1) + 1
        words = prompt[above : line - 1].strip()
        if above <= start or (words and _ANNOUNCES.fullmatch(words) is None):
            break
        line = above
    return {"insertion": line, "indent": margin}


_ANNOUNCES = re.compile(r"(?:for )?(?:some )?examples?(?: \d+)?\s*[:.]?|e\.g\.:?|for example,?:?", re.IGNORECASE)

# ------------------------------------------------------------------------------------------------- examples

_CONNECTOR = re.compile(r"\s*(?:#\s*)?(?:==|=>|=|➞|->|→|➜|returns|should return|should be|#)?\s*(?:=>)?\s*")


def _calls(prompt: str, start: int, end: int, function: str) -> list[Example]:
    """Every call of the function in the prose, with the value behind it.

    Raises:
        NotChanged: a call has no plain arguments, or no value stands behind it.
    """
    found = []
    for match in re.finditer(rf"(?:>>>[ \t]*)?\b{re.escape(function)}(?=\()", prompt[start:end]):
        begins, name = start + match.start(), start + match.end() - len(function)
        close = _closing(prompt, name + len(function), end)
        case = _parsed_case(prompt[name:close])
        connected = _CONNECTOR.match(prompt, close, end)
        if case is None or connected is None or connected.end() == close:
            raise NotChanged("an example in a form that is not read: its call")
        until = prompt.find("\n", connected.end(), end)
        line = prompt[connected.end() : until if until >= 0 else end]
        value = _leading_literal(line)
        if value is None:
            raise NotChanged("an example in a form that is not read: its value")
        rest = line[len(value) :].strip()
        if rest and rest not in {".", ",", ";", '"'}:
            raise NotChanged("an example in a form that is not read: words behind its value")
        found.append(Example(case, value, connected.end(), connected.end() + len(value), begins))
    return found


def _closing(text: str, opening: int, end: int) -> int:
    """Behind the bracket that closes the one at ``opening``; quotes are minded."""
    depth, quote = 0, ""
    for place in range(opening, end):
        sign = text[place]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
            if depth == 0:
                return place + 1
    raise NotChanged("an example in a form that is not read: its brackets")


def _parsed_case(source: str) -> RecordedCase | None:
    try:
        with quietly():
            call = syntax.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return case_of(call) if isinstance(call, ast.Call) else None


def _leading_literal(line: str) -> str | None:
    """The longest beginning of a line that is a literal."""
    for stop in range(len(line), 0, -1):
        text = line[:stop]
        if text.rstrip() != text or text.lstrip() != text:
            continue
        try:
            with quietly():
                syntax.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
        return text.rstrip(",")  # "1," would be read as a tuple
    return None


_UNREAD = re.compile(
    r">>>|==|=>|➞|->|→|➜|\[[^\]]*[\d'\",][^\]]*\]|\{[^}]*\}|\b(?:input|output)s?\s*[:=]", re.IGNORECASE
)
_EXAMPLE = re.compile(
    r"\bexamples?\b(?!\s*\d*\s*:?\s*(?:\n|$))|\be\.g\b|\bfor instance\b|\bi\.e\b|"
    r"\b(?:if|when|for) [\w ]+ (?:=|is|are) \W?\d",
    re.IGNORECASE,
)


def _refuse_unread(prose: str, function: str) -> None:
    """Refuse prose that still shows values: one of them may no longer be true."""
    found = _UNREAD.search(prose) or _EXAMPLE.search(prose)
    if found is not None or f"{function}(" in prose:
        raise NotChanged(f"an example in a form that is not read: {found.group()[:20]!r}" if found else
                         "an example in a form that is not read: its call")  # fmt: skip


# --------------------------------------------------------------------------------------- input and output

_BLOCK = re.compile(r"^Input: (?P<input>.*(?:\n(?!Output: ).*)*)\nOutput: (?P<output>.*)$", re.MULTILINE)
_HEADING = re.compile(r"^Example(?: \d+)?:?[ \xa0]*$", re.MULTILINE)
_AFTER = re.compile(r"^(?:Example(?: \d+)?:?[ \xa0]*|Note:.*)$", re.MULTILINE)
_BEGIN = re.compile(r"### Question:\n")
_END = re.compile(
    r"^(?:Constraints:|Follow[ -]up|### Format:|Please complete the following python code)", re.MULTILINE
)
_INSTANCE = re.compile(r"\bexamples?\b(?!\s*\d*:)|\be\.g\b|\bfor instance\b|\bi\.e\b", re.IGNORECASE)


def _of_method(prompt: str) -> Statement:
    """LeetCode's form: ``Input: a = 1, b = [2]``, ``Output: 3`` and an explanation, which is dropped."""
    begin, stop = _BEGIN.search(prompt), _END.search(prompt)
    start, end = begin.end() if begin else 0, stop.start() if stop else len(prompt)
    examples, dropped = [], []
    for found in _BLOCK.finditer(prompt, start, end):
        case = _parsed_case(f"f({_pythonic(found['input'])})")
        shown = _pythonic(found["output"].strip())
        if case is None or _leading_literal(shown) != shown:
            raise NotChanged("an example in a form that is not read: its input or output")
        at = found.start("output")
        examples.append(Example(case, shown, at, at + len(found["output"].rstrip()), found.start(), "json"))
        after = _AFTER.search(prompt, found.end(), end)
        until = after.start() if after else end
        if prompt[found.end() : until].strip():
            if not prompt[found.end() : until].lstrip().startswith("Explanation"):
                raise NotChanged("an example in a form that is not read: words behind its output")
            dropped.append((found.end(), until))
    headings = [one.start() for one in _HEADING.finditer(prompt, start, end)]
    if len(examples) != prompt.count("\nOutput: ", start, end) or len(headings) != len(examples):
        raise NotChanged("an example in a form that is not read: input and output")
    said = Statement(
        prompt=prompt, start=start, end=end, examples=tuple(examples), insertion=min(headings, default=end),
        indent="", dropped=tuple(dropped),
    )  # fmt: skip
    if _INSTANCE.search(_HEADING.sub("", said.prose)):
        raise NotChanged("an example in a form that is not read: words")
    return said


def _pythonic(text: str) -> str:
    words = {"true": "True", "false": "False", "null": "None"}
    return re.sub(r"\b(?:true|false|null)\b", lambda match: words[match.group()], text)
