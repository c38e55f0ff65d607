"""The agent `edit` on a repository's problems: it works in the tree by calls."""

from __future__ import annotations

import ast
import json
import signal
from contextlib import contextmanager
from textwrap import dedent, indent
from threading import Lock

import pytest
from click.testing import CliRunner

from support.commands import signalled
from support.repository_package import write_package
from support.scripted_server import Answer, chat, scripted_server
from truegrade.agents import open_agent
from truegrade.agents.steps import VisibleProblem, visible_problem
from truegrade.apps.repository.agent import Workspace, workspace_of
from truegrade.apps.repository.build import RepositoryOptions, build_functions, take_inventory
from truegrade.apps.repository.functions import bare
from truegrade.apps.repository.source import read_tree
from truegrade.benchmarks import load_benchmark
from truegrade.cli import main
from truegrade.datasets.identity import name_free_identity
from truegrade.errors import UnknownName, UserError
from truegrade.sandbox.levels import detect
from truegrade.store import Run

SHELF = '''
"""Shelves, of which 7919 is the largest."""
import os

from .sizes import LIMIT

compile = exec = None


def fitted(n: int) -> int:
    """What fits.

    >>> fitted(9)
    31
    """
    # as many as there are
    n = n * 3 + (n > 4) * 3
    return n + 1 if n > LIMIT else 6007 - n


class Shelf:
    def __init__(self, *things):
        self.things = list(things)

    @property
    def room(self):
        """How much more it holds."""
        used = len(self.things) * 2
        return LIMIT + 8009 - used if used < LIMIT else 0
'''
TESTS = """
from pack.shelf import Shelf, fitted
from tests.helpers import due


def test_fitted():
    assert [fitted(n) for n in (0, 1, 2, 3, 5, 7, 9, 12, 20)][0] == due(0)


def test_room():
    assert [Shelf().room, Shelf(1).room, Shelf(1, 2).room] == [8013, 8011, 0]
"""
FILES = {
    "src/pack/__init__.py": "",
    "src/pack/sizes.py": "LIMIT = 4\n",
    "src/pack/shelf.py": SHELF,
    "src/pack/unused.py": "SECRET = 'unused'\n",
    "tests/__init__.py": "",
    "tests/helpers.py": "SECRET = 6007\n\n\ndef due(n):\n    return SECRET - n\n",
    "tests/test_shelf.py": TESTS,
}
PATH = "src/pack/shelf.py"
FITTED = """\
    n = n * 3 + (n > 4) * 3
    return n + 1 if n > LIMIT else top() - n
"""
ROOM = """\
        used = len(self.things) * 2
        return LIMIT + top() + 2002 - used if used < LIMIT else 0
"""
BODIES = {"fitted": FITTED, "room": ROOM}
TOP = "import json\n\ndef top():\n    return json.loads('6007')\n\n\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The package, and a folder with its problems."""
    folder = tmp_path_factory.mktemp("agents")
    package = write_package(folder / "package", FILES)
    inventory = take_inventory(read_tree(str(package)), folder)
    made = build_functions(inventory, RepositoryOptions(kinds=("write", "repair")), folder)
    for kind, rows in made.rows.items():
        (folder / f"{kind}.jsonl").write_text("".join(f"{row}\n" for row in rows))
    return package, folder


def problems(folder, kind):
    return load_benchmark(str(folder / f"{kind}.jsonl"), None, {}).by_id()


def identities(files):
    """The functions of texts, names apart."""
    trees = [ast.parse(text) for text in files.values()]
    return {
        name_free_identity(bare(node))
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    }


# ---------------------------------------------------------------------------------------------- the tree


@pytest.mark.parametrize("kind", ["write", "repair"])
def test_the_tree_holds_no_answer_no_tests_and_what_its_module_loads(built, kind):
    found = problems(built[1], kind)
    assert {(one.id, one.tags["tier"]) for one in found.values()} == {
        (f"pack.shelf.fitted/{kind}", "outside"),
        (f"pack.shelf.Shelf.room/{kind}", "own-tests"),
    }
    for problem in found.values():
        space = workspace_of(visible_problem(problem))
        files = space.files(space.content)
        assert list(files) == ["src/pack/__init__.py", PATH, "src/pack/sizes.py"]
        assert "SECRET" not in "".join(files.values()) and "_truegrade" not in "".join(files.values())
        reference = name_free_identity(bare(ast.parse(problem.task.reference).body[-1]))
        assert reference not in identities(files)
        assert reference in identities(FILES), "the search finds it where it is"
        assert "fits" in space.content and "# as many as" in (
            space.content if "room" in problem.id else "# as many as"
        )
        assert space.words.endswith("The rest of the file is there when it runs.")


def test_a_large_file_is_whole_although_the_prompt_shows_less(built):
    problem = visible_problem(problems(built[1], "write")["pack.shelf.fitted/write"])
    less = problem.text.replace("        used = len(self.things) * 2\n", "")
    text = Workspace(
        VisibleProblem(**{n: getattr(problem, n) for n in problem.__struct_fields__} | {"text": less})
    )
    assert "used = len(self.things) * 2" in text.content and "    ..." in text.content
    assert "6007" not in text.content


def test_what_is_handed_in_is_the_function_and_what_is_new_beside_it(built):
    found = problems(built[1], "write")
    space = workspace_of(visible_problem(found["pack.shelf.Shelf.room/write"]))
    edited = TOP + space.content.replace("        ...\n", BODIES["room"])
    assert space.answer(edited).split("\n\n") == [
        "import json",
        "def top():\n    return json.loads('6007')",
        'def room(self):\n    """How much more it holds."""\n' + indent(dedent(ROOM), "    "),
    ]
    for broken in ("def (", "x = 1\n", "\0"):
        assert space.answer(broken) == broken


@pytest.mark.parametrize("prefix", ["", "import math\n", "exec('x')", "f('', 'm')", "1", "def ("])
def test_other_rows_have_no_tree(prefix):
    problem = VisibleProblem(id="m.f/write", benchmark="b", kind="function", text="f", prefix=prefix)
    assert workspace_of(problem) is None
    with pytest.raises(UserError, match="agent 'edit' has no tree for"):
        open_agent("edit", {}).render_prompt(problem, ())


@pytest.mark.parametrize("turns", [0, 201, "x", True, 1.5])
def test_arguments_are_checked(turns):
    with pytest.raises(UserError, match="a whole number from 1 to 200"):
        open_agent("edit", {"turns": turns})
    with pytest.raises(UnknownName, match="did you mean turns"):
        open_agent("edit", {"turn": 3})


# ---------------------------------------------------------------------------------------------- a service


def block(*lines):
    return "Next.\n\n```call\n" + "\n".join(lines) + "\n```\n"


def replacing(path, old, new):
    return block(
        f"replace {path}", "<<<<<<< SEARCH", old.rstrip("\n"), "=======", new.rstrip("\n"), ">>>>>>> REPLACE"
    )


def hunt(package, port, wanted):
    """A program that prints what it finds of the answer's constant, tests, the user's files and the network."""
    return f"""
import gc, os, socket, types
found, wanted = [], {wanted}
for path in ({str(package)!r}, {str(package / "tests/helpers.py")!r}, {str(package / PATH)!r}):
    for look in (os.listdir, lambda path: open(path).read()):
        try:
            found.append(look(path))
        except OSError:
            pass
for folder in (os.path.expanduser("~"), os.getcwd()):
    found += [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(".py")]
for name in ("tests.helpers", "pack.unused", "truegrade", "truegrade_answer", "pytest"):
    try:
        found.append(__import__(name))
    except ImportError:
        pass
try:
    found.append(socket.create_connection(("127.0.0.1", {port}), 2))
except OSError:
    pass
def codes(code):
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from codes(one)
functions = [one for one in gc.get_objects() if isinstance(one, types.FunctionType)]
for function in functions:
    for code in codes(function.__code__):
        found += [function for value in code.co_consts if value == wanted and code.co_filename != "snippet.py"]
    for cell in function.__closure__ or ():
        held = "" if cell.cell_contents is globals() else repr(cell.cell_contents)
        found += [cell] if "SEC" + "RET" in held or str(wanted) in held else []
print("seen", len(functions) > 100, "found", found, os.urandom(8).hex())
"""


def played(package, port, endless=False):
    """What a model does that tries everything: by turn, the reply to the messages."""

    def reply(messages):
        turn = sum(message["role"] == "assistant" for message in messages)
        first = messages[0]["content"]
        name = "room" if "Shelf.room" in first else "fitted"
        shown = "        ...\n" if name == "room" else "    ...\n"
        wanted = "6007" if name == "fitted" else "8009"
        if "one bug" in first:
            wanted = "'no constant'"  # the mutant has it
            shown = mutated(messages, name) if turn >= 3 else ""
        return [
            "I think about it.",
            block("list"),
            block(f"read {PATH}"),
            block("read src/pack/sizes.py 1 1"),
            block("read tests/helpers.py"),
            block("search LIMIT"),
            block("delete everything"),
            replacing("src/pack/sizes.py", "LIMIT = 4", "LIMIT = 5"),
            replacing(PATH, "no such line", ""),
            replacing(PATH, shown, "  def ("),
            block("run", *hunt(package, port, wanted).split("\n")),
            block("run", "while True: pass" if endless and name == "room" else "[{}][0]['key']"),
            block("run", "print('x' * 30_000)", "1 / 0"),
            block("run", "def ("),
            replacing(PATH, shown, BODIES[name]),
            replacing(PATH, "import os", TOP),
            block("run", "print([fitted(n) for n in (0, 5)], Shelf(1).room)"),
            block("submit"),
        ][turn]

    return reply


def mutated(messages, name):
    """The body of a function in what `read` showed."""
    numbered = messages[6]["content"].rpartition("\n\n")[0]
    shown = "\n".join(line[6:] for line in numbered.split("\n"))
    node = next(one for one in ast.walk(ast.parse(shown)) if getattr(one, "name", "") == name)
    lines = shown.split("\n")
    return "\n".join(lines[node.body[1].lineno - 1 : node.end_lineno]) + "\n"


@contextmanager
def serving(reply, delay_s=0.0):
    lock, asked = Lock(), []

    def answer(body):
        with lock:
            asked.append(body["messages"])
        return Answer(chat(reply(body["messages"])), delay_s=delay_s)

    with scripted_server(answer) as server:
        yield server, asked


def command(folder, kind, url, out, *words):
    where = ["--model", "openai-compatible/m", "--base-url", url, "--seed", "3", "--out", str(out)]
    return ["run", str(folder / f"{kind}.jsonl"), *where, *words]


def completions(run):
    """What a run's completions say, times apart."""
    lines = [json.loads(line) for line in (run / "completions.jsonl").read_text().splitlines()]
    for one in lines:
        del one["crc32"]
        for taken in (one, *one["attempts"]):
            for field in ("latency_s", "created_at", "started_at", "at"):
                taken.pop(field, None)
    return sorted(json.dumps(one, sort_keys=True) for one in lines)


@pytest.fixture
def port():
    with serving(lambda _: "nothing") as (server, _):
        yield int(server.url.rpartition(":")[2].removesuffix("/v1"))


@pytest.mark.parametrize("kind", ["write", "repair"])
def test_edit_from_the_build_to_the_report(built, port, tmp_path, kind):
    if detect().level < 2:
        pytest.skip("below protection level 2 a program reads what the user can")
    package, folder = built
    with serving(played(package, port, endless=kind == "write")) as (server, asked):
        done = CliRunner().invoke(main, command(folder, kind, server.url, tmp_path / "run", "--agent", "edit"))
    assert done.exit_code == 0, done.output
    assert "edit with" in done.output and "solves 100.0 %" in done.output
    last = {messages[0]["content"]: messages for messages in asked if len(messages) == 35}
    assert len(asked) == 36 and len(last) == 2
    for first, messages in last.items():
        told = [message["content"] for message in messages if message["role"] == "user"][1:]
        assert [said.rpartition("\n\n")[2] for said in told[:2]] == ["(29 replies left)", "(28 replies left)"]
        slow = kind == "write" and "Shelf.room" in first
        begins = [
            "error: give one block", "src/pack/__init__.py\n", "    1 ", "    1 LIMIT = 4\n\n", "error: no file",
            "src/pack/shelf.py:", "error: give one block", f"refused: only {PATH} can be changed",
            "error: these lines stand 0 times", "refused: the file would be no Python", "seen True found [] ",
            "[time_limit]" if slow else "Traceback ", "x" * 10_000 + "\n...", "Traceback ", "done\n", "done\n",
        ]  # fmt: skip
        assert [said[: len(due)] for said, due in zip(told, begins, strict=False)] == begins
        assert "SyntaxError" in told[13] and "_loading" not in told[13]
        right = "8011" if "Shelf.room" in first else "[6007, 19]"
        assert right in told[16], told[16]
    run = Run.open(tmp_path / "run")
    assert all(verdict.passed for verdict in run.verdicts("strict"))
    about = run.summary["agent"]
    assert (about["rounds"], about["trials"], about["official_tests"]) == ({"18": 2}, 10, False)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "an agent that reads, edits and runs code; not pass@1 of the model" in page and "2 after 18" in page


def test_out_of_turns_the_file_is_handed_in_as_it_is(built, port, tmp_path):
    with serving(played(built[0], port)) as (server, asked):
        words = ["--agent", "edit", "-A", "turns=2", "--id", "pack.shelf.fitted/write"]
        done = CliRunner().invoke(main, command(built[1], "write", server.url, tmp_path / "run", *words))
    assert (done.exit_code, len(asked)) == (0, 2), done.output
    (completion,) = Run.open(tmp_path / "run").completions()
    assert (
        completion.form == "program"
        and completion.text.startswith("def fitted(n: int)")
        and "..." in completion.text
    )


@pytest.mark.parametrize(("packages", "shown"), [(["msgspec"], "msgspec\n"), ([], "No module named 'msgspec'")])
def test_code_imports_the_packages_of_its_problem_alone(built, tmp_path, packages, shown):
    row = json.loads((built[1] / "write.jsonl").read_text().splitlines()[0])
    (tmp_path / "write.jsonl").write_text(json.dumps({**row, "packages": packages}) + "\n")
    replies = [block("run", "import msgspec", "print(msgspec.__name__)"), block("submit")]
    with serving(lambda messages: replies[len(messages) // 2]) as (server, asked):
        done = CliRunner().invoke(
            main, command(tmp_path, "write", server.url, tmp_path / "run", "--agent", "edit")
        )
    assert done.exit_code == 0 and shown in asked[1][-1]["content"], done.output


def test_a_reply_by_tool_calls_is_told_what_is_read(built, tmp_path):
    """Our requests offer no tools; a service that calls some all the same says nothing in words."""
    call = {"id": "1", "type": "function", "function": {"name": "list", "arguments": "{}"}}

    def answer(body):
        if len(body["messages"]) > 1:
            return Answer(chat(block("submit")))
        return Answer(chat(None, finish_reason="tool_calls", tool_calls=[call]))

    with scripted_server(answer) as server:
        words = ["--agent", "edit", "--id", "pack.shelf.fitted/write"]
        done = CliRunner().invoke(main, command(built[1], "write", server.url, tmp_path / "run", *words))
    assert done.exit_code == 0, done.output
    assert "error: give one block" in server.requests[1].body["messages"][-1]["content"]


# ---------------------------------------------------------------------------------------------- killed


def test_killed_in_the_middle_and_resumed_it_says_the_same(built, port, tmp_path):
    package, folder = built
    words = ["--agent", "edit", "--max-connections", "1"]
    with serving(played(package, port), delay_s=0.02) as (server, asked):
        done = CliRunner().invoke(main, command(folder, "write", server.url, tmp_path / "whole", *words))
        assert done.exit_code == 0, done.output
        needed = len(asked)
        steps = tmp_path / "killed" / "steps.jsonl"
        begun = command(folder, "write", server.url, tmp_path / "killed", *words)
        signalled(begun, lambda: steps.exists() and steps.read_bytes().count(b"\n") >= 21, signal.SIGKILL)
        assert len(completions(tmp_path / "killed")) < 2
        assert CliRunner().invoke(main, begun).exit_code == 0
        assert len(asked) - 2 * needed <= 1, "at most the request under way is asked again"
    assert completions(tmp_path / "killed") == completions(tmp_path / "whole")


# ---------------------------------------------------------------------------------------- without an agent


@pytest.mark.parametrize("kind", ["write", "repair"])
def test_the_embedded_model_is_asked_too(built, tmp_path, kind):
    asked = ["run", str(built[1] / f"{kind}.jsonl"), "--model", "embedded/truegrade-micro", "--max-tokens", "16"]
    done = CliRunner().invoke(main, [*asked, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0 and "of 2 problems" in done.output, done.output
