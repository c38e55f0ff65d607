"""Shell completion: names of benchmarks, profiles and models behind the options and arguments that take them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import click
from click.shell_completion import CompletionItem, get_completion_class

VARIABLE = "_TRUEGRADE_COMPLETE"
"""By which click is asked for completions."""


def _benchmarks() -> Iterable[str]:
    from truegrade.benchmarks.table import REGISTRY

    return REGISTRY.names()


def _suites() -> Iterable[str]:
    from truegrade.pipeline.suites.table import REGISTRY

    return REGISTRY.names()


def _profiles() -> Iterable[str]:
    from truegrade.profiles import REGISTRY

    return REGISTRY.names()


def _models() -> Iterator[str]:
    from truegrade.models import BASELINES, LOCAL
    from truegrade.models.presets import PRESETS

    yield from (f"baseline/{name}" for name in BASELINES)
    yield from (name for name in LOCAL if name == name.lower())  # the others are patterns: hf/NAME
    yield from PRESETS


def _benchmarks_and_suites() -> Iterator[str]:
    yield from _benchmarks()
    yield from _suites()


NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "benchmark": _benchmarks,
    "benchmarks": _benchmarks,
    "profile": _profiles,
    "profiles": _profiles,
    "model": _models,
    "models": _models,
}
"""Parameter of a command -> what it can be called with."""
OF_GROUPS: dict[str, Callable[[], Iterable[str]]] = {"profiles": _profiles, "suites": _suites}
"""Groups of which every argument is such a name."""


class Named(click.types.StringParamType):
    """A text that may be one of these names, or a file.

    Args:
        names: looked up when a shell asks.
    """

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin so; files where none does, as a file can stand for each."""
        found = [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]
        return found or [CompletionItem(incomplete, type="file")]


def complete_names(group: click.Group) -> None:
    """Let the parameters of a group's commands be completed by what they name."""
    for command in group.commands.values():
        if isinstance(command, click.Group):
            complete_names(command)
        for parameter in command.params:
            names = OF_GROUPS.get(group.name or "") or NAMES.get(parameter.name or "")
            if command.name == "run" and parameter.name == "benchmark":
                names = _benchmarks_and_suites
            if names is not None and parameter.type is click.STRING:
                parameter.type = Named(names)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that completes commands, options and names in a shell.

    \b
    bash, in ~/.bashrc:   eval "$(truegrade completion bash)"
    zsh, in ~/.zshrc:     eval "$(truegrade completion zsh)"
    fish:                 truegrade completion fish > ~/.config/fish/completions/truegrade.fish
    """
    scripts = get_completion_class(shell)
    assert scripts is not None
    click.echo(scripts(ctx.find_root().command, {}, "truegrade", VARIABLE).source())
