"""`evalplus` and `evalplus-base`: HumanEval+ and MBPP+ as evalplus/evalplus @26d6d00 asks and grades them."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from itertools import accumulate
from types import MappingProxyType

from truegrade import prompts
from truegrade.extraction.parsing import MAX_SOURCE_CHARS, ExtractionLimitError, SourceText, quietly
from truegrade.files import syntax
from truegrade.grading.evalplus import GUARD_EXTRA, JOIN_S, MAX_TOTAL_S, grade_by_evalplus, ground_truths
from truegrade.grading.executor import Executor
from truegrade.grading.functions import ReferenceFailed
from truegrade.grading.judgement import Judgement
from truegrade.profiles.base import NO_EXAMPLES, Profile, check_variant, covered_task
from truegrade.profiles.harness_runs import RELIABILITY_GUARD
from truegrade.prompts.making import base, before_stop, chat, origin
from truegrade.records import Answer, Completion, Message, OracleTask, Problem, Prompt, Reason
from truegrade.sandbox import Limits

# -------------- EvalPlus' sanitizer: imports and the definitions that the entry point reaches, out of a reply.
# evalplus/evalplus@26d6d00 ``evalplus/sanitize.py``. It walks a tree-sitter tree; this walks Python's own, in
# which the same statements and names are found wherever the chosen span parses, which all spans of two lines or
# more do. One difference remains: a reply of one line that does not parse is left as it is, where tree-sitter may
# mend it.


# ----------------------------------------------------------------------------------------------------------------
# EvalPlus' first step of reading a reply: the span of lines that parses and has most lines that are not blank.
# evalplus/evalplus@26d6d00 ``evalplus/sanitize.py`` ``code_extract`` tries every span of two or more lines, which
# takes minutes for a long reply. Here the same span is found with about one parse a line, because a text that
# CPython's parser gives up on before its end stays unreadable whatever lines follow it, and because a span that
# begins between two statements of a span that parses is never the longer one.


# One lock for all who silence warnings: `catch_warnings` swaps process-wide state.

MAX_PARSED_CHARS = 3_000_000
"""What is parsed for one reply, at most some 5 s of CPU, and `MAX_SOURCE_CHARS` at once; EvalPlus has no bound. A
reply with a published solution of HumanEval or MBPP takes a hundredth; sixty of them in a row take two thirds.
"""
_LIMIT = (
    f"EvalPlus' sanitizer would parse over {MAX_PARSED_CHARS:,} characters, or over {MAX_SOURCE_CHARS:,} at once"
)
_READING_CHARS = 50
"""What beginning to parse costs, in characters parsed; what is only copied costs a fiftieth of its length."""

_ANSI = re.compile(r"\x1B(?:[@-Z\\-_]|\[[0-?]*[ -/]*[@-~])")
_CARRIAGE_RETURN = re.compile(r"\r(?!\n)")
_ALLOW_INCOMPLETE_INPUT = 0x4000
"""``PyCF_ALLOW_INCOMPLETE_INPUT`` of CPython >= 3.11 (``Include/cpython/compile.h``): a fault at the very end of
the text is reported as incomplete input."""


class _Reading(Enum):
    WHOLE = auto()
    BEGUN = auto()
    """Not a module, but more lines may make it one."""
    BROKEN = auto()
    """Not a module, whatever follows."""


def longest_span(reply: str, *, colours: bool = False) -> str:
    """The chosen lines. Where nothing parses, the first line. Runs nothing.

    Args:
        reply: the text.
        colours: whether terminal colours are kept; EvalPlus removes them.

    Raises:
        ExtractionLimitError: finding it takes more than `MAX_PARSED_CHARS`, or it may have more than
            `MAX_SOURCE_CHARS`.
    """
    search = _Search(reply if colours else _ANSI.sub("", reply))
    best, most = (0, 0), 0
    with quietly():
        for first in range(search.lines - 1):
            last = search.end_of_longer(first, most)
            if last is not None:
                best, most = (first, last), search.filled_lines(first, last)
    span = search.text(*best)
    if len(span) > MAX_SOURCE_CHARS:
        raise ExtractionLimitError(_LIMIT)
    return span


class _Search:
    """Reads spans of lines; ``first`` and ``last`` are indices, both included."""

    def __init__(self, text: str) -> None:
        lines = text.split("\n")
        self.lines = len(lines)
        self._text = text
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._filled = [0, *accumulate(bool(line.strip()) for line in lines)]
        """Lines before an index that are not blank."""
        self._chars_left = MAX_PARSED_CHARS
        self._covered: set[int] = set()
        """Lines at which no longer span can begin: see `_cover`."""
        self._tree: ast.Module | None = None
        """Of the last span that was read as a whole."""
        self._fault = 0
        """Line at which the last span that was read turned out to be broken."""

    def text(self, first: int, last: int) -> str:
        """The lines of a span."""
        return self._text[self._starts[first] : self._starts[last + 1] - 1]

    def filled_lines(self, first: int, last: int) -> int:
        """Lines of the span that are not blank."""
        return self._filled[last + 1] - self._filled[first]

    def end_of_longer(self, first: int, most: int) -> int | None:
        """Where the longest span from ``first`` ends that has more than ``most`` lines.

        None if none parses, or if one that was found has to be longer.
        """
        least = None if first in self._covered else self._nearest_end(first, most + 1)
        if least is None:
            return None
        if self._read(first, least) is _Reading.BROKEN:
            before = self._fault - 1
            if before > first and self._read(first, before) is _Reading.WHOLE:
                self._cover(first, before)
            return None
        last = self._last_unbroken(first, least)
        while last >= least:
            if self._read(first, last) is _Reading.WHOLE:
                self._cover(first, last)
                nearest = self._nearest_end(first, self.filled_lines(first, last)) or last
                ends = range(nearest, last)
                return next((end for end in ends if self._read(first, end) is _Reading.WHOLE), last)
            last = min(last - 1, self._line_left_open(first, last) - 1)
        return None

    def _cover(self, first: int, last: int) -> None:
        """Of a span that was read as a whole, leave out the lines between its statements, and the one behind it.

        Whatever parses from one of these lines on parses from ``first`` on as well, and has no more lines.
        """
        assert self._tree is not None
        if _CARRIAGE_RETURN.search(self.text(first, last)):
            return  # the parser counts other lines
        inside: set[int] = set()
        for node in self._tree.body:
            assert node.end_lineno is not None
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            start = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            inside.update(range(first + start, first + node.end_lineno))
        self._covered.update(line for line in range(first + 1, last + 2) if line not in inside)

    def _nearest_end(self, first: int, count: int) -> int | None:
        """End of the shortest span, of two lines at least, with this many that are not blank."""
        end = bisect_left(self._filled, self._filled[first] + count, lo=first + 1) - 1
        return max(end, first + 1) if end < self.lines else None

    def _last_unbroken(self, first: int, least: int) -> int:
        """The last end up to which the span is not broken: once it is, it stays so."""
        last = self.lines - 1
        if self._read(first, last) is not _Reading.BROKEN:
            return last
        ends = range(least, last + 1)
        return least - 1 + bisect_right(ends, False, key=lambda end: self._read(first, end) is _Reading.BROKEN)

    def _read(self, first: int, last: int) -> _Reading:
        return _reading(self._compiled(first, last, _ALLOW_INCOMPLETE_INPUT))

    def _line_left_open(self, first: int, last: int) -> int:
        """Where the bracket or string begins that is still open at the end; else the line behind the span.

        No span that ends in between can parse.
        """
        fault = self._compiled(first, last)
        if isinstance(fault, SyntaxError):
            message = fault.msg or ""
            if fault.lineno and (message.endswith("was never closed") or "triple-quoted" in message):
                return first + fault.lineno - 1
        return last + 1

    def _compiled(self, first: int, last: int, flags: int = 0) -> Exception | None:
        """Read a span, and pay for as much of it as the parser reads; what kept it from parsing, if anything."""
        readable = min(last, bisect_right(self._starts, self._starts[first] + MAX_SOURCE_CHARS) - 2)
        if self._chars_left <= 0 or readable < first:
            raise ExtractionLimitError(_LIMIT)
        source = self.text(first, readable)
        self._chars_left -= _READING_CHARS + len(source) // 50
        self._fault, self._tree = first, None
        fault = self._parsed(first, readable, source, flags)
        if readable < last and _reading(fault) is not _Reading.BROKEN:
            raise ExtractionLimitError(_LIMIT)
        return fault

    def _parsed(self, first: int, last: int, source: str, flags: int) -> Exception | None:
        try:
            self._tree = syntax.compiled(source, "<reply>", "exec", ast.PyCF_ONLY_AST | flags)
        except SyntaxError as error:
            read = max(error.lineno or 0, error.end_lineno or 0)
            self._fault = min(last, first + max(0, read - 1))
            # Of a string left open, which is only copied, the first line is named; of a bracket it is, too.
            everything = not read or (error.msg or "").endswith("was never closed")
            self._chars_left -= len(source) if everything else len(self.text(first, self._fault))
            return error
        except (ValueError, MemoryError, RecursionError) as error:
            # Null bytes, lone surrogates, deep nesting: more lines mend none of them. EvalPlus crashes on some.
            self._chars_left -= len(source)
            return error
        self._chars_left -= len(source)
        return None


def _reading(fault: Exception | None) -> _Reading:
    if fault is None:
        return _Reading.WHOLE
    return _Reading.BEGUN if getattr(fault, "msg", None) == "incomplete input" else _Reading.BROKEN


_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def sanitize(reply: str, entry_point: str) -> str:
    """What EvalPlus grades of a reply: the kept statements, or the whole span where none is kept.

    Raises:
        ExtractionLimitError: as `longest_span`.
    """
    span = longest_span(reply)
    return kept_statements(span, entry_point).strip() or span


def sanitized_answer(kept: str) -> Answer:
    """What a sanitizer kept of a reply, as an answer; none where it kept nothing."""
    if not kept.strip():
        return Answer(value=None, found="the sanitizer left nothing", reason=Reason.NO_CODE)
    return Answer(value=kept, found="sanitized")


def kept_statements(span: str, entry_point: str, *, returning: bool = True) -> str:
    """All imports, then the definitions that are reached, each as it is written; empty if it does not parse.

    Args:
        span: Python.
        entry_point: where the reaching begins.
        returning: whether functions without a ``return`` are left out.
    """
    try:
        with quietly():
            tree = syntax.parse(span)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ""
    imports = [node for node in tree.body if _is_import(node)]
    definitions = _definitions(tree, returning)
    reached = _reached(entry_point, definitions)
    kept = [*imports, *(node for name, node in definitions.items() if name in reached)]
    source = SourceText(span)
    return "\n".join(
        source.text_with_comments(node) if isinstance(node, _DEFINITIONS) else source.text_of(node)
        for node in kept
    )


def _is_import(node: ast.stmt) -> bool:
    """An import, but not ``from __future__``: tree-sitter has a node type of its own for that."""
    return isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and node.module != "__future__")


def _definitions(tree: ast.Module, returning: bool) -> dict[str, ast.stmt]:
    """Top-level classes, functions and assignments by name; of two with one name the first."""
    found: dict[str, ast.stmt] = {}
    for node in tree.body:
        name = _name(node, returning)
        if name is not None:
            found.setdefault(name, node)
    return found


def _name(node: ast.stmt, returning: bool) -> str | None:
    """The name a statement is kept under; None if it is not kept at all.

    Decorated definitions are not, nor, where that is asked, functions without a ``return`` in them.
    """
    match node:
        case ast.ClassDef(decorator_list=[]):
            return node.name
        case ast.FunctionDef(decorator_list=[]) | ast.AsyncFunctionDef(decorator_list=[]):
            returns = not returning or any(isinstance(part, ast.Return) for part in ast.walk(node))
            return node.name if returns else None
        case ast.Assign(targets=[target]):
            return _bare_name(node, target) or _bare_name(node, node.value)
        case ast.Assign(targets=[target, *_]):
            return _bare_name(node, target)
        case ast.AnnAssign(target=target, value=value):
            return _bare_name(node, target) or (_bare_name(node, value) if value is not None else None)
        case _:
            return None


def _bare_name(statement: ast.stmt, side: ast.expr) -> str | None:
    """The name that one side of an assignment is, unless it is in brackets.

    EvalPlus takes the first name that is a child of the assignment: of ``table["k"] = total`` that is ``total``.
    """
    if not isinstance(side, ast.Name):
        return None
    starts = (side.lineno, side.col_offset) == (statement.lineno, statement.col_offset)
    ends = (side.end_lineno, side.end_col_offset) == (statement.end_lineno, statement.end_col_offset)
    return side.id if starts or ends else None


def _reached(entry_point: str, definitions: dict[str, ast.stmt]) -> set[str]:
    """The names that the entry point leads to, by whatever use of a name."""
    reached, waiting = {entry_point}, [entry_point]
    while waiting:
        name = waiting.pop()
        for used in _identifiers(definitions[name]) if name in definitions else ():
            if used not in reached:
                reached.add(used)
                waiting.append(used)
    return reached


def _identifiers(tree: ast.AST) -> Iterator[str]:
    """Every identifier in the text of a node: variables, attributes, parameters, keywords, imported names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            continue
        for _, value in ast.iter_fields(node):
            if isinstance(value, str):
                yield from value.split(".")
            elif isinstance(value, list):  # `global a, b`; keywords of a class pattern
                yield from (item for item in value if isinstance(item, str))


EOS = ("<|endoftext|>", "<|endofmask|>", "</s>", "\nif __name__", "\ndef main(", "\nprint(")
"""Stop strings of every back end that takes any (``evalplus/provider/utility.py``)."""
BASE_EOS = {
    "humanevalplus": ("\ndef ", "\nclass ", "\nimport ", "\nfrom ", "\nassert "),
    "mbppplus": ('\n"""', "\nassert"),
}
"""Further ones for base models."""
CHAT_EOS = ("\n```\n",)
"""Further one for chat templates."""

_GUARD = (*RELIABILITY_GUARD, *GUARD_EXTRA)


class Evalplus(Profile):
    """EvalPlus' verdict "base + extra tests"."""

    name = "evalplus"
    version = "26d6d00"
    covers = ("oracle",)
    only = MappingProxyType({"oracle": ("humanevalplus", "mbppplus")})
    variants = ("default", "anthropic", "chat", "base")
    plus = True
    """Whether the extra inputs count."""
    limits = Limits(cpu_s=MAX_TOTAL_S + JOIN_S, output_bytes=64 * 2**20)
    """The references of MBPP+ return tens of megabytes (Mbpp/255)."""

    def __init__(self) -> None:
        self._truths = ground_truths()

    def render_prompt(
        self, problem: Problem, variant: str | None = None, examples: Mapping[str, Problem] = NO_EXAMPLES
    ) -> Prompt:
        """EvalPlus' words for an API, for a chat template (the answer's turn is begun) or for a base model."""
        values = {"prompt_stripped": covered_task(self, problem, OracleTask).prompt.strip()}
        match check_variant(self, variant):
            case "anthropic":
                return _with_stop(chat("evalplus.anthropic.user", values), EOS)
            case "chat":
                user = Message(role="user", content=prompts.render("evalplus.chat.user", **values))
                opening = Message(role="assistant", content=prompts.render("evalplus.chat.response_prefix"))
                return Prompt(messages=(user, opening), source=origin("evalplus.chat.user"), stop=EOS + CHAT_EOS)
            case "base":
                return base("evalplus.base.prompt", values, stop=EOS + BASE_EOS[problem.benchmark])
            case _:
                return chat("evalplus.openai.user", values)

    def extract(self, problem: Problem, completion: Completion) -> Answer:
        """Sanitize a reply, or a base model's text behind its prompt; take what a file gives as it is."""
        task = covered_task(self, problem, OracleTask)
        text = completion.text or ""
        if completion.form == "program":
            return Answer(value=text, found="as given: a whole program")
        if completion.form == "completion":
            if not completion.prompt_sha256:
                return Answer(value=task.prompt + text, found="as given: behind the prompt")
            code = before_stop(text, EOS + BASE_EOS[problem.benchmark]).replace("\t", "    ")
            text = f"{task.prompt.strip()}\n{code}"
        return sanitized_answer(sanitize(text, task.entry_point))

    def judgement(self, problem: Problem, answer: Answer, executor: Executor) -> Judgement:
        """Call the program on the inputs, beside the expected outputs."""
        task = covered_task(self, problem, OracleTask)
        try:
            truth = self._truths.of(f"{problem.dataset_sha256}/{problem.id}", task, executor)
        except ReferenceFailed as failure:
            return Judgement(reason=Reason.GRADER_ERROR, detail=str(failure))
        checks = [truth.base, truth.plus] if self.plus else [truth.base]
        if self.timeout_s is not None:
            checks = [group.within(self.timeout_s) for group in checks]
        return grade_by_evalplus(task, answer.value or "", checks, _GUARD, executor)


class EvalplusBase(Evalplus):
    """EvalPlus' verdict "base tests"."""

    name = "evalplus-base"
    plus = False


def _with_stop(prompt: Prompt, stop: tuple[str, ...]) -> Prompt:
    return Prompt(messages=prompt.messages, source=prompt.source, stop=stop)
