"""Messages name arguments as Python has them, which the command line shows as its options."""

import ast
import re
from functools import cache
from pathlib import Path

import click

import truegrade
from truegrade.cli import main
from truegrade.cli.groups import with_apps
from truegrade.cli.options import ARGUMENT, with_flags

PACKAGE = Path(truegrade.__file__).parent
OPTION = re.compile(r"(?<![\w(-])(--[a-z][\w-]*|-[TMAnkbm])(?![\w-])")
COMMAND = re.compile(r"(truegrade|git|inspect log|hf|modelscope|vllm serve|docker run|main\.py)\b[^;]*$")
"""What may stand before an option in the same string: a whole command, of ours or of another program."""


def strings(nodes):
    """The text of every string; parts that are computed are left out."""
    passed = set()
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            passed |= {id(part) for part in node.values}
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed:
            yield node.value


def told(node):
    """Whether what stands in it is told to a user: what is raised, an error that is made, a notice."""
    called = isinstance(node, ast.Call) and ast.unparse(node.func)
    return isinstance(node, ast.Raise) or (called and called.endswith(("Error", "notice")))


@cache
def messages():
    """File, text, and names of the file's parameters and fields, for every message outside the command line."""
    found = []
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("cli/") and not name.endswith("/commands.py"):
            nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            names = {node.arg for node in nodes if isinstance(node, ast.arg)}
            names |= {ast.unparse(node.target) for node in nodes if isinstance(node, ast.AnnAssign)}
            within = (inner for node in nodes if told(node) for inner in ast.walk(node))
            found += [(name, text, names) for text in set(strings(within))]
    return found


def test_no_message_names_an_option():
    """Unless it stands in a whole command."""
    assert len(messages()) > 500
    named = [(name, text) for name, text, _ in messages() for found in OPTION.finditer(text)
             if not COMMAND.search(text[: found.start()])]  # fmt: skip
    assert named == []


def test_every_argument_that_a_message_names_is_an_option_or_of_the_same_file():
    """A name that no command has stays between its backquotes, in front of somebody who types commands."""
    with click.Context(with_apps(main)):
        unknown = [
            (name, mark[0])
            for name, text, names in messages()
            for mark in ARGUMENT.finditer(text)
            if with_flags(mark[0]) == mark[0] and mark[1] not in names
        ]
    assert unknown == []
