"""From problems to changed problems: rules propose, every proposal is run, a model may word it.

A proposal holds if the changed reference answers every call of the tests with a plain value, the same in two
processes with different hash seeds, and not always as the original's; and if, graded by source as a run
grades, the changed reference passes the new tests and fails the old, and the original's does the opposite.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import msgspec

from truegrade.apps.changed.material import ChangeRule, Material, Proposal
from truegrade.apps.changed.statement import (
    Example,
    Form,
    NotChanged,
    Statement,
    as_tests,
    calls_of_tests,
    has_check,
    is_plain,
    read_statement,
    render_value,
)
from truegrade.benchmarks.own_rows import Change
from truegrade.builders.mutation.operators import OPERATORS, sites
from truegrade.datasets.executions import RecordedCase, run_cases
from truegrade.datasets.identity import without_docstrings
from truegrade.extraction.blocks import fenced_blocks
from truegrade.extraction.parsing import Literal, parse_literal, quietly
from truegrade.extraction.programs import extract_program
from truegrade.extraction.thinking import final_channel
from truegrade.files import syntax
from truegrade.grading.executor import Executor
from truegrade.grading.functions import grade_by_tests
from truegrade.grading.programs import assemble, called_class, method_call, renamed
from truegrade.prompts import render
from truegrade.records import FunctionTask, Problem

MIN_CALLS = 2
"""Calls with plain arguments that the tests of a problem need."""
MAX_CHARS = 20_000
"""Longest value of a test."""
_MAJORITY = 0.5


class Jails(msgspec.Struct, frozen=True):
    """Where programs run; the second has another hash seed."""

    first: Executor
    second: Executor


class ChangedProblem(msgspec.Struct, frozen=True):
    """An original and what has become of it."""

    original: Problem
    task: FunctionTask | None
    """The changed problem; None where no change holds."""
    change: Change | None
    refused: Counter[str]
    """Why proposals came to nothing: ``rule: reason``, or the reason alone where no rule was asked."""
    proposed: int = 0
    """Proposals that were run."""


Worded = Callable[[Problem, FunctionTask, Change], tuple[FunctionTask, Change]]
"""Words a changed problem anew; raises NotChanged where it cannot."""


def change_problems(
    problems: Sequence[Problem], rules: Sequence[ChangeRule], jails: Jails, *, worded: Worded | None = None
) -> Iterator[ChangedProblem]:
    """What becomes of each problem, in order.

    Args:
        problems: those whose task is a `FunctionTask` can be changed.
        rules: in the order of preference.
        jails: run the programs.
        worded: has a model word the statement in place of the rule; None keeps the rule's.
    """
    # One after another: CPython 3.11 confuses the trees that two threads build at once (python/cpython#106905).
    for problem in problems:
        yield _changed(problem, rules, jails, worded)


def _changed(problem: Problem, rules: Sequence[ChangeRule], jails: Jails, worded: Worded | None) -> ChangedProblem:
    refused: Counter[str] = Counter()
    task, work = problem.task, None
    try:
        if not isinstance(task, FunctionTask):
            raise NotChanged("asks for no function that is tested by source")
        work = _Work(problem, task, jails)
        for held in work.holding(rules, refused):
            try:
                kept = worded(problem, *held) if worded else held
                return ChangedProblem(problem, *kept, refused, work.proposed)
            except NotChanged as why:
                refused[f"{held[1].rule}: {_short(why)}"] += 1
        if not refused:
            refused["no rule fits"] += 1
    except NotChanged as why:
        refused[_short(why)] += 1
    return ChangedProblem(problem, None, None, refused, work.proposed if work else 0)


def _short(why: NotChanged) -> str:
    return str(why).partition(": ")[0]


def form_of(task: FunctionTask) -> Form:
    """Where the prose of a task stands."""
    return "method" if method_call(task) else "docstring" if task.prefix else "text"


class _Work:
    """One problem while it is changed.

    Raises:
        NotChanged: its tests, its statement or its reference cannot be read or run.
    """

    def __init__(self, problem: Problem, task: FunctionTask, jails: Jails) -> None:
        self._problem, self._task, self._jails = problem, task, jails
        self._method = method_call(task)
        helpers = task.tests_use if not self._method else ()
        if task.setup.strip() or helpers or task.buggy or not task.plain_arguments:
            raise NotChanged("its tests need more than calls with plain values")
        if task.cpu_s is not None:
            raise NotChanged("its reference needs more than the usual CPU time")
        self._calls = calls_of_tests(task.tests, task.entry_point)
        if len(self._calls) < MIN_CALLS:
            raise NotChanged("its tests hold too few calls with plain values")
        self._statement = read_statement(task.prompt, task.entry_point, form_of(task))
        self._reference = _bare(task.reference)
        self._old = self._outputs(task.reference, task.entry_point, [one.case for one in self._calls])
        values = [read.value for text in self._old if isinstance(read := parse_literal(text), Literal)]
        self.proposed = 0
        """Proposals run so far."""
        self._material = Material(self._statement, task.entry_point, self._reference, self._calls, values)

    def holding(self, rules: Sequence[ChangeRule], refused: Counter[str]) -> Iterator[tuple[FunctionTask, Change]]:
        """Those that hold: words first, of several the one whose tests differ most ahead; then sentences."""
        words = [one for one in rules if one.family != "sentence"]
        tried = list(self._tried(words, refused))
        sentences = sorted((one for one in rules if one.family == "sentence"), key=self._lot)
        for rule, proposal, new, _ in chain(
            sorted(tried, key=lambda one: -one[-1]), self._tried(sentences, refused)
        ):  # fmt: skip
            try:
                yield self._whole(rule, proposal, new)
            except NotChanged as why:
                refused[f"{rule.name}: {_short(why)}"] += 1

    def _tried(
        self, rules: Sequence[ChangeRule], refused: Counter[str]
    ) -> Iterator[tuple[ChangeRule, Proposal, list[str], int]]:  # fmt: skip
        """What the rules propose, as far as it runs and differs: rule, proposal, values, calls that differ."""
        for rule in rules:
            proposal = rule.propose(self._material)
            if proposal is None:
                continue
            self.proposed += 1
            try:
                new, differing = self._differing(rule, proposal)
            except NotChanged as why:
                refused[f"{rule.name}: {_short(why)}"] += 1
            else:
                yield rule, proposal, new, differing

    def _lot(self, rule: ChangeRule) -> tuple[bool, str]:
        """Demands on an argument ahead of those on the result; among each a hash of problem and rule decides."""
        return rule.on_result, hashlib.sha256(f"{self._problem.id}/{rule.name}".encode()).hexdigest()

    def _differing(self, rule: ChangeRule, proposal: Proposal) -> tuple[list[str], int]:
        """What the changed reference returns, and on how many calls that differs.

        Raises:
            NotChanged: on none, or of a sentence on too few; or a call fails or does not always return the same.
        """
        program, cases = self._program(proposal.reference, proposal.entry_point), [one.case for one in self._calls]
        new = _returned(self._jails.first, program, proposal.entry_point, cases)
        differing = sum(one != other for one, other in zip(self._old, new, strict=True))
        if differing == 0:
            raise NotChanged("equal to the original on every input")
        if len(set(new)) == 1 < len(set(self._old)):
            raise NotChanged("returns the same for every input")
        if rule.family == "sentence" and differing < _MAJORITY * len(new):
            raise NotChanged("differs on less than half of the inputs")
        if new != _returned(self._jails.second, program, proposal.entry_point, cases[::-1])[::-1]:
            raise NotChanged("a call does not always return the same value")
        return new, differing

    def _whole(self, rule: ChangeRule, proposal: Proposal, new: list[str]) -> tuple[FunctionTask, Change]:
        """The changed problem, graded."""
        task, statement = self._task, self._statement
        edits = [*proposal.edits, *self._example_edits(proposal)]
        edits += [(begin, end, "\n\n") for begin, end in statement.dropped]
        prompt = _edited(task.prompt, edits)
        named = proposal.entry_point
        changed = msgspec.structs.replace(
            task,
            prompt=prompt,
            prefix=prompt if form_of(task) == "docstring" else task.prefix,
            entry_point=named,
            tests=self._called(named) + as_tests(self._calls, new, named, check=has_check(task.tests)),
            shown_tests=self._shown(named, new),
            reference=proposal.reference,
        )
        differs = [place for place, (one, other) in enumerate(zip(self._old, new, strict=True)) if one != other]
        witness = min(differs, key=lambda place: len(self._calls[place].call(named) + new[place]))
        change = Change(
            original=self._problem.id, rule=rule.name, kind=rule.kind, family=rule.family,
            edits=tuple((task.prompt[begin:end], text) for begin, end, text in sorted(proposal.edits)),
            call=self._calls[witness].call(named), old=self._old[witness], new=new[witness],
            differing=len(differs), tests=len(self._calls),
        )  # fmt: skip
        self.refuse_ungraded(changed)
        return changed, change

    def _shown(self, named: str, new: list[str]) -> tuple[str, ...]:
        """The tests that the prompt shows, with their new values.

        Raises:
            NotChanged: one of them is no call with plain values.
        """
        known = {one.call(""): (one, value) for one, value in zip(self._calls, new, strict=True)}
        shown = []
        for test in self._task.shown_tests:
            found = [known.get(one.call("")) for one in calls_of_tests(test, self._task.entry_point)]
            if len(found) != 1 or found[0] is None:
                raise NotChanged("a test that the prompt shows is no call with plain values")
            shown.append(found[0][0].assertion(named, found[0][1]))
        return tuple(shown)

    def _example_edits(self, proposal: Proposal) -> list[tuple[int, int, str]]:
        """The examples of the statement with the changed reference's values.

        Raises:
            NotChanged: the original shows another value than it returns, or a new one cannot be written.
        """
        examples: Sequence[Example] = self._statement.examples
        if not examples:
            return []
        cases = [one.case for one in examples]
        old = self._outputs(self._task.reference, self._task.entry_point, cases)
        new = self._outputs(proposal.reference, proposal.entry_point, cases)
        for one, value in zip(examples, old, strict=True):
            if not _same(one.shown, value):
                raise NotChanged("an example of the original shows another value than its reference returns")
        return [
            (one.start, one.end, self._statement.prompt[one.start : one.end] if _same(value, before)
             else render_value(value, one.shown, one.style))
            for one, before, value in zip(examples, old, new, strict=True)
        ]  # fmt: skip

    def refuse_ungraded(self, changed: FunctionTask) -> None:
        """Grade both references by both tests.

        Raises:
            NotChanged: a grade is not as expected.
        """
        task, run = self._task, self._jails.first
        forth = renamed(task.reference, task.entry_point, changed.entry_point)
        back = renamed(changed.reference, changed.entry_point, task.entry_point)
        for program, judged, right, said in (
            (changed.reference, changed, True, "the changed reference fails the new tests"),
            (forth, changed, False, "the original's reference passes the new tests"),
            (task.reference, task, True, "the original's reference fails its own tests"),
            (back, task, False, "the changed reference passes the old tests"),
        ):
            if grade_by_tests(judged, program, run).passed != right:
                raise NotChanged(said)

    def _called(self, named: str) -> str:
        """How the tests call a method of that name; empty where the program defines a function."""
        if not self._method:
            return ""
        return renamed(self._method, self._task.entry_point, named).rstrip() + "\n\n\n"

    def _program(self, reference: str, named: str) -> str:
        """The reference with the function that calls its method, if it has one."""
        return f"{reference}\n\n\n{self._called(named)}"

    def _outputs(self, program: str, function: str, cases: Sequence[RecordedCase]) -> list[str]:
        """What a program returns, twice the same.

        Raises:
            NotChanged: a call fails, returns no plain value, or not always the same.
        """
        program = self._program(program, function)
        first = _returned(self._jails.first, program, function, cases)
        if first != _returned(self._jails.second, program, function, cases[::-1])[::-1]:
            raise NotChanged("a call does not always return the same value")
        return first


def _returned(jail: Executor, program: str, function: str, cases: Sequence[RecordedCase]) -> list[str]:
    """What a program returns, as literals.

    Raises:
        NotChanged: a call fails, or returns no plain value.
    """
    found = []
    for one in run_cases(jail, program, function, cases, MAX_CHARS):
        if one.text is None:
            raise NotChanged("a call fails or returns no plain value")
        if not is_plain(one.text):
            raise NotChanged("floats inside a container")
        found.append(one.text)
    return found


def _bare(program: str) -> ast.Module:
    """The reference without docstrings, which say what the original does."""
    with quietly():
        return without_docstrings(syntax.parse(program))


def _same(one: str, other: str) -> bool:
    """Whether two literals are equal, floats within a small tolerance."""
    first, second = (getattr(parse_literal(text), "value", text) for text in (one, other))
    if isinstance(first, float) and isinstance(second, float | int):
        return abs(first - second) < 1e-6
    if isinstance(first, list) and isinstance(second, tuple):
        second = list(second)
    return bool(first == second)


def _edited(prompt: str, edits: Sequence[tuple[int, int, str]]) -> str:
    """The prompt with every edit.

    Raises:
        NotChanged: two edits touch each other.
    """
    parts, at = [], 0
    for begin, end, text in sorted(set(edits)):
        if begin < at:
            raise NotChanged("two edits of the statement overlap")
        parts += [prompt[at:begin], text]
        at = end
    return "".join([*parts, prompt[at:]])


# ---- A model words the statement of a changed reference; it is kept only if it can be solved from that alone.

Ask = Callable[[str], str]
"""Puts a question to a model and returns its reply."""


def operator_rules() -> tuple[ChangeRule, ...]:
    """A rule for each mutation operator: its first change of the function under test, without words for it."""
    return tuple(
        ChangeRule(name, name, "model", f"the mutation operator {name}, worded by a model", _first_change(name))
        for name in OPERATORS
    )


def _first_change(name: str) -> Callable[[Material], Proposal | None]:
    def propose(material: Material) -> Proposal | None:
        tree = material.tree()
        function = material.function(tree)
        for site in sites(function) if function is not None else ():
            for new in OPERATORS[name](site):
                with site.holding(new):
                    return Proposal(ast.unparse(tree), (), material.entry_point)
        return None

    return propose


def worded_by(ask: Ask, check: Ask, jails: Jails) -> Worded:
    """How `change_problems` has a model word a statement.

    Args:
        ask: the model that words.
        check: the model that solves what was worded, which may be the same.
        jails: run the programs.
    """

    def worded(problem: Problem, task: FunctionTask, change: Change) -> tuple[FunctionTask, Change]:
        original = problem.task
        assert isinstance(original, FunctionTask)
        statement = read_statement(original.prompt, original.entry_point, form_of(original))
        old = original.prompt[statement.start : statement.end]
        new = _laid_out(_reply(ask, original, task, change, old), statement)
        if " ".join(new.split()) == " ".join(old.split()):
            raise NotChanged("the model left the statement as it was")
        prompt = original.prompt[: statement.start] + new + original.prompt[statement.end :]
        prefix = prompt if form_of(original) == "docstring" else task.prefix
        said = msgspec.structs.replace(task, prompt=prompt, prefix=prefix)
        _refuse_false_examples(said, jails)
        _refuse_unsolved(said, check, jails)
        return said, msgspec.structs.replace(change, family="model", edits=((old.strip(), new.strip()),))

    return worded


def _reply(ask: Ask, original: FunctionTask, task: FunctionTask, change: Change, old: str) -> str:
    """The new statement: the last fenced block of the reply, else all of it."""
    question = render(
        "changed.statement",
        statement=old.strip("\n"),
        old_program=original.reference.rstrip(),
        new_program=task.reference.rstrip(),
        call=change.call,
        old=change.old,
        new=change.new,
    )
    text = final_channel(ask(question)).text
    blocks = fenced_blocks(text)
    found = (blocks[-1].code if blocks else text).strip("\n")
    if not found.strip():
        raise NotChanged("the model wrote no statement")
    if '"""' in found or "'''" in found:
        raise NotChanged("the model wrote more than the statement")
    return found


def _laid_out(text: str, statement: Statement) -> str:
    """The text between what stood around the old one: blanks, and the margin of a docstring."""
    old = statement.prompt[statement.start : statement.end]
    head, tail = old[: len(old) - len(old.lstrip())], old[len(old.rstrip()) :]
    margin = re.search(r"\n([ \t]+)\S", old)
    lines = [line.strip() if not margin else line.rstrip() for line in text.strip().splitlines()]
    if margin and not all(line.startswith(margin[1]) for line in lines[1:] if line):
        lines = [lines[0], *(margin[1] + line if line else line for line in lines[1:])]
    return head + "\n".join(lines) + tail


def _refuse_false_examples(task: FunctionTask, jails: Jails) -> None:
    """See that the statement's examples can be read, and are what the changed reference returns.

    Raises:
        NotChanged: they are not.
    """
    examples = read_statement(task.prompt, task.entry_point, form_of(task)).examples
    program = f"{task.reference}\n\n\n{method_call(task)}"
    returned = run_cases(jails.first, program, task.entry_point, [one.case for one in examples], MAX_CHARS)
    for one, value in zip(examples, returned, strict=True):
        if value.text is None or syntax.literal_eval(value.text) != syntax.literal_eval(one.shown):
            raise NotChanged("an example of the model's statement is wrong")


def _refuse_unsolved(task: FunctionTask, check: Ask, jails: Jails) -> None:
    """See that a reply to the new statement alone passes the new tests.

    Raises:
        NotChanged: it does not.
    """
    owner = called_class(task)
    answer = extract_program(check(_solving(task)), task.entry_point, prefix=task.prefix, called_on=owner)
    if answer.value is None or not grade_by_tests(task, assemble(task.prefix, answer), jails.first).passed:
        raise NotChanged("a second reply could not solve the new statement")


def _solving(task: FunctionTask) -> str:
    form = form_of(task)
    if form == "method":
        return task.prompt
    if form == "docstring":
        return render("strict.function.user", prompt=task.prompt)
    if task.shown_tests:
        return render("strict.description.user", prompt=task.prompt, tests="\n".join(task.shown_tests))
    return render("strict.named.user", prompt=task.prompt, entry_point=task.entry_point)
