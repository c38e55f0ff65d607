"""Who turns completions into verdicts: this machine's cores, or those of many machines, opened by name."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from pkgutil import resolve_name
from types import MappingProxyType
from typing import Protocol

from truegrade.errors import UnknownName
from truegrade.profiles import Profile
from truegrade.records import Completion, Problem, Verdict


class Grader(Protocol):
    """Gives completions their verdicts; how many machines work for it is its own affair."""

    def verdicts(
        self, completions: Iterable[Completion], problems: Mapping[str, Problem], profile: Profile
    ) -> Generator[Verdict, None, None]:
        """One verdict for each completion, as they become known: the order is not that of the completions.

        Completions are drawn only as fast as they are graded. Closing the generator ends what is under way.

        Args:
            completions: each answers one of ``problems``.
            problems: by id.
            profile: the rules.

        Raises:
            SandboxError: programs would have to run at level 1 and that is not allowed, or a machine failed.
        """

    def close(self) -> None:
        """Give back what it holds; safe to call twice."""


class OpenGrader(Protocol):
    """How `open_grader` opens one."""

    def __call__(self, address: str, workers: int | None, allow_unsafe: bool, /) -> Grader:
        """Check the address and what has to be installed; start nothing.

        Raises:
            UserError: one of them is at fault.
        """


GRADERS: Mapping[str, str] = MappingProxyType(
    {
        "local": "truegrade.pipeline.local_grader:open_local",
        "ray": "truegrade.integrations.ray:open_ray",
    }
)
"""Name to ``module:function`` (`OpenGrader`), imported when asked for: most need a package of their own."""


def open_grader(name: str, *, workers: int | None = None, allow_unsafe: bool = False) -> Grader:
    """A grader by name; close it when done. Nothing is started or reached before something is graded.

    Args:
        name: ``local``, ``ray``, or with an address: ``ray:auto``, ``ray:HOST:PORT``, ``ray://HOST:PORT``.
        workers: programs run at once; None for one a core.
        allow_unsafe: run programs even at protection level 1.

    Raises:
        UnknownName: there is none of that name.
        UserError: its address cannot be meant, or the package that it needs is not installed.
    """
    bare, _, address = name.partition(":")
    if bare not in GRADERS:
        raise UnknownName("executor", name, GRADERS)
    opener: OpenGrader = resolve_name(GRADERS[bare])
    return opener(address, workers, allow_unsafe)
