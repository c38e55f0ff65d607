"""Pure functions of a repository, each as a program of its own. Nothing is imported or run: only trees are read.

Pure means, as far as a tree can tell: a function of a module's top level or a static method, without ``global``
and ``await``, that reads nothing but its parameters, built-ins that touch nothing outside, modules of a short
list, and constants, classes and functions of the repository that are pure in the same sense. What a tree cannot
tell (state in a default value, the order of a set) shows when the program is run twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from truegrade.builders.mine.examples import literal_calls
from truegrade.builders.mine.repository import Function, Repository, RepositoryModule
from truegrade.builders.mine.shapes import Parameter, parameters_of
from truegrade.datasets.recording import NotRecorded, RecordedCase, Refused


class FoundFunction(msgspec.Struct, frozen=True, kw_only=True):
    """A function that may become an item."""

    function: str
    program: str
    """The function with what it needs, without docstrings and comments."""
    file: str
    """Relative to the folder that was searched."""
    line: int
    """1-based."""
    parameters: tuple[Parameter, ...]
    examples: tuple[RecordedCase, ...]
    """Calls of it with literal arguments that stand in its repository, in doctests, tests and callers."""

    @property
    def place(self) -> str:
        """Where it stands, for a person."""
        return f"{self.file}:{self.line} {self.function}"


def discover(path: Path) -> Iterator[FoundFunction | Refused]:
    """The functions of a file, or of all Python files below a folder, in the order of their names.

    Raises:
        UserError: there is nothing at that path.
    """
    repository = Repository(path)
    yield from repository.refused
    names = {function.name for module in repository.modules for function in module.functions()}
    examples = literal_calls((module.tree for module in repository.modules), names)
    for module in repository.modules:
        for function in module.functions():
            yield _looked_at(repository, module, function, tuple(examples.get(function.name, ())))


def _looked_at(
    repository: Repository, module: RepositoryModule, function: Function, examples: tuple[RecordedCase, ...]
) -> FoundFunction | Refused:
    place = f"{module.file}:{function.lineno} {function.name}"
    try:
        parameters = parameters_of(function, module.stubs.get(function.name), module.aliases)
        program = repository.program(module, function)
    except (NotRecorded, RecursionError, SyntaxError) as refusal:
        return Refused(place, str(refusal))
    return FoundFunction(
        function=function.name,
        program=program,
        file=module.file,
        line=function.lineno,
        parameters=parameters,
        examples=examples,
    )
