"""A model words the statement of a changed reference; it is kept only if it can be solved from that alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import msgspec

from truegrade.builders.changed.build import MAX_CHARS, Jails, Worded, form_of
from truegrade.builders.changed.material import ChangeRule, Material, Proposal
from truegrade.builders.changed.statement import NotChanged, Statement, read_statement
from truegrade.builders.mutation.operators import OPERATORS
from truegrade.builders.mutation.sites import sites
from truegrade.datasets.executions import run_cases
from truegrade.extraction.fences import fenced_blocks
from truegrade.extraction.programs import extract_program
from truegrade.extraction.thinking import final_channel
from truegrade.grading.functions import grade_by_tests
from truegrade.grading.programs import assemble, called_class, method_call
from truegrade.prompts import render
from truegrade.records import FunctionTask, Problem
from truegrade.records.pairing import Change

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
        if value.text is None or ast.literal_eval(value.text) != ast.literal_eval(one.shown):
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
