"""Arguments that a message names between backquotes are shown as the running command's options."""

import click
import pytest

from truegrade.cli import main
from truegrade.cli.options import with_flags


@pytest.mark.parametrize(
    ("command", "message", "shown"),
    [
        ("run", "`limit` and `ids` leave none", "--limit and --id leave none"),
        ("run", "for another draw give `cache=False`", "for another draw give --no-cache"),
        ("run", "pass `allow_unsafe=True`, which", "pass --allow-unsafe, which"),
        ("run", "`task_args` split=dev: must be", "-T split=dev: must be"),
        ("run", "grade it with `benchmark` mbpp", "grade it with BENCHMARK mbpp"),
        ("grade", "grade it with `benchmark` mbpp", "grade it with --benchmark mbpp"),
        ("check", "`tasks` 0", "--n 0"),
        ("compare", "`tasks` and `power`", "--tasks and --probability"),
        ("compare", "lower `points`", "lower --points"),
        ("grade", "raise `n` or lower `ks`", "raise -n or lower -k"),
        ("data", "ask for fewer (`size`)", "ask for fewer (--size)"),
        (None, "choose another `out`", "choose another --out"),
        ("run", "Object missing required field `model`", "Object missing required field `model`"),
        ("run", "no `nonsense`, see `truegrade list models`", "no `nonsense`, see `truegrade list models`"),
    ],
)
def test_the_command_line_shows_its_own_options(command, message, shown):
    with click.Context(main) as context:
        context.invoked_subcommand = command
        assert with_flags(message) == shown
