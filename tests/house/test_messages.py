"""Messages name arguments as Python has them, and the included model alike; options only the command line."""

import ast
import re
from functools import cache
from pathlib import Path

import click
import pytest

import truegrade
from truegrade.cli import main
from truegrade.cli.groups import with_apps
from truegrade.cli.options import ARGUMENT, with_flags

PACKAGE = Path(truegrade.__file__).parent
OPTION = re.compile(r"(?<![\w(-])(--[a-z][\w-]*|-[TMAnkbm])(?![\w-])")
COMMAND = re.compile(r"(truegrade|git|inspect log|hf|modelscope|vllm serve|main\.py)\b[^;]*$")
"""What may stand before an option in the same string: a whole command, of ours or of another program."""

ALLOWED = {
    "sandbox/bubblewrap.py": "the command line of bubblewrap",
    "sandbox/zygotes.py": "an option of container programs",
    "settings.py": "the options themselves",
    "records/config.py": "the options themselves",
    "store/manifest.py": "the command line of git",
    "store/exporters/harness_files.py": "an option of bigcode's harness",
    "report/listings.py": "what `truegrade list benchmarks` and `truegrade list agents` print",
    "apps/integrations/lm_eval.py": "options of lm-evaluation-harness, and of `export`, which writes its tasks",
    "report/figures.py": "a style",
    "report/comparison_replies.py": "a style",
    "apps/evolve/reporting/problems_html.py": "a style",
    "apps/assay/cheats/deceiving.py": "options of pytest",
    "apps/assay/cheats/reaching.py": "options of pytest",
    "apps/assay/targets/programs.py": "an option of Python",
    "apps/repository/forged_runs.py": "options of pytest",
    "apps/repository/forgeries.py": "options of pytest",
    "apps/repository/jailed.py": "options of pytest",
    "apps/repository/functions.py": "options of pytest",
    "apps/repository/warm_tests.py": "options of pytest",
    "apps/repository/source.py": "the command line of git",
    "models/gguf_local.py": "an option of pip",
    "sandbox/by_pytest.py": "options of pytest",
    "profiles/rewards/rllm.py": "options of pytest",
}
OF_REWARDS = {
    *("`limits`", "`on_error`", "`retry_s`", "`scheme`", "`step_replies`", "`tests_inside`", "`truncated`"),
    "`unknown`",
}
"""Arguments of `RewardGrader`, which no command has."""
NOT_ARGUMENTS = {"`field`", "`grade`", "`longest`", "`published`"} | OF_REWARDS
"""Commands and values between backquotes."""


def strings(tree):
    """Line and text of every string but docstrings; parts that are computed are left out."""
    nodes = list(ast.walk(tree))
    bodies = [body for node in nodes if isinstance(body := getattr(node, "body", None), list)]
    passed = {id(part.value) for body in bodies for part in body if isinstance(part, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            passed |= {id(part) for part in node.values}
            texts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
            yield node.lineno, "".join(texts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed:
            yield node.lineno, node.value


@cache
def messages():
    """File, line and text of every string outside the command line."""
    files = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    return [
        (name, line, text)
        for name, path in files.items()
        if not name.startswith("cli/") and not name.endswith("/commands.py")
        for line, text in strings(ast.parse(path.read_text(encoding="utf-8")))
    ]


def options(text):
    """Options that do not stand in a whole command."""
    return [found[0] for found in OPTION.finditer(text) if not COMMAND.search(text[: found.start()])]


def test_no_message_names_an_option():
    named = [(name, line, options(text)) for name, line, text in messages() if name not in ALLOWED]
    assert [place for place in named if place[2]] == []


def test_what_is_allowed_is_still_there():
    assert ALLOWED.keys() == {name for name, _, text in messages() if options(text)}


def test_every_argument_that_a_message_names_is_one():
    """A name that no command has would stay between its backquotes, in front of somebody who types commands.

    Rules of profiles quote Python and fences between backquotes.
    """
    texts = [text for name, _, text in messages() if not name.startswith("profiles/")]
    marks = {mark[0] for text in texts for mark in ARGUMENT.finditer(text)}
    with click.Context(with_apps(main)):
        assert {mark for mark in marks if with_flags(mark) == mark} == NOT_ARGUMENTS


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


def test_the_included_model_has_one_name():
    root = PACKAGE.parents[1]
    texts = [root / "README.md", root / "Makefile", *(root / "docs").rglob("*.md"), *PACKAGE.rglob("*.py")]
    other = re.compile(r"\bin the box\b|\bthe (embedded|shipped|built-in|bundled) model\b", re.IGNORECASE)
    made = root / "docs" / "reference"  # written from the options' own words
    named = [str(path) for path in texts if made not in path.parents and other.search(path.read_text("utf-8"))]
    assert named == []
