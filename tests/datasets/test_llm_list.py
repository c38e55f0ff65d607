"""LLM-List: a scripted service proposes; what is kept was validated, and a killed build goes on where it was."""

import json
import re

import pytest
from click.testing import CliRunner

from support import scripted_server as scripted
from truegrade.builders.llm_list import (
    Idea,
    JournalEntry,
    LlmListOptions,
    build,
    read_ideas,
    read_inputs,
    read_program,
)
from truegrade.cli import main
from truegrade.datasets.executions import NotRecorded, Refused
from truegrade.errors import UserError
from truegrade.sandbox import Limits, Sandbox
from truegrade.store.journal import read_journal

PROGRAMS = {
    "tail(values)": "def tail(values):\n    '''tail([1]) == []'''\n    return values[1:]",
    "rest(items)": "def rest(items):\n    return items[1:]",
    "noise(values)": "import random\n\ndef noise(values):\n    return random.random()",
    "pairs(values, size)": "def pairs(values, size):\n    return [tuple(values[i : i + size])\n"
    "        for i in range(0, len(values), size)]",
    "constant(values)": "def constant(values):\n    return 1",
    "missing(values)": "def other(values):\n    return helper(values)",
    "ends(values)": "def ends(values):\n    return [values[0], values[-1]]",
}  # fmt: skip


def ideas(*headers):
    return json.dumps([{"header": f"def {header}:", "description": "Says\nso."} for header in headers])


class Proposer:
    """Answers the three kinds of question; `asked` keeps count."""

    def __init__(self):
        self.asked = []
        self.batches = [
            ideas(*list(PROGRAMS)[:4], "broken"),
            "no JSON",
            ideas(*list(PROGRAMS)[4:], "tail(values)"),
        ]

    def __call__(self, question):
        if question.startswith("Think of"):
            self.asked.append("ideas")
            return self.batches[self.asked.count("ideas") - 1] if self.asked.count("ideas") <= 3 else "[]"
        if question.startswith("Write this"):
            header = re.search(r"def (.*):", question)[1]
            self.asked.append(header)
            return f"Here it is.\n```python\n{PROGRAMS[header]}\n```"
        function = re.search(r"calls of (\w+)", question)[1]
        self.asked.append(f"inputs {function}")
        if function == "ends" and self.asked.count("inputs ends") == 1:
            return "[[[]], [[]], [[1]]]"
        if function == "pairs":
            return "```\n[[[1, 2, 3], 2], [[4], 1], [[], 1]]\n```"
        return "Sure: [[[1, 2]], [[3, 4, 5]], [[]]]" if function != "ends" else "[[[1, 2]], [[3, 4, 5]], [[6]]]"


@pytest.fixture(scope="module")
def jails():
    limits = Limits(cpu_s=5)
    with Sandbox(limits, allow_unsafe=True) as jail, Sandbox(limits, allow_unsafe=True, hash_seed=1) as witness:
        yield jail, witness


def run(jails, ask, journal, earlier=(), size=3):
    made = build(LlmListOptions(size=size), ask, *jails, journal=journal, earlier=earlier, connections=2)
    rows, refused = [], {}
    for one in made:
        if isinstance(one, Refused):
            refused[one.name] = one.why
        else:
            rows.append(one)
    return rows, refused


class Memory(list):
    """A journal in memory."""


def test_only_what_the_jail_validates_is_kept(jails):
    rows, refused = run(jails, Proposer(), Memory())
    assert [row.function_name for row in rows] == ["tail", "pairs", "ends"]
    assert [row.id for row in rows] == ["llm_list_0", "llm_list_1", "llm_list_2"]
    assert rows[0].code == "def tail(values):\n    return values[1:]\n" and rows[0].description == "Says so."
    assert rows[1].correct_condition[0] == "pairs([1, 2, 3], 2) == [(1, 2), (3,)]"
    assert "same program" in refused["rest"] and "not deterministic" in refused["noise"]
    assert "same for every input" in refused["constant"] and "reads helper" in refused["missing"]


def test_a_stopped_build_asks_for_nothing_twice(jails):
    class Stopped(Exception):
        pass

    first, journal = Proposer(), Memory()

    def stopping(question):
        if len(first.asked) == 7:
            raise Stopped
        return first(question)

    with pytest.raises(Stopped):
        run(jails, stopping, journal)
    done = [entry.name for entry in journal if entry.name]
    assert done
    second = Proposer()
    second.batches = second.batches[1:]
    rows, _ = run(jails, second, Memory(), earlier=journal)
    assert [row.function_name for row in rows] == ["tail", "pairs", "ends"]
    assert not {header for header in second.asked if header.split("(")[0] in done}


def test_a_model_without_ideas_ends_the_build(jails):
    with pytest.raises(UserError, match="no new functions in 3 replies"):
        run(jails, lambda _: "I have no idea.", Memory())


def test_the_command_resumes_from_its_journal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    proposer = Proposer()

    def answer(body):
        if len(proposer.asked) == 6 and not (tmp_path / "again").exists():
            return scripted.error(401, "the key was revoked")
        return scripted.Answer(scripted.chat(proposer(body["messages"][-1]["content"])))

    with scripted.scripted_server(answer) as server:
        command = ["data", "build", "llm-list", "--model", "openai/m", "--base-url", server.url, "--size", "3",
                   "--max-connections", "1", "--out", "rows.jsonl"]  # fmt: skip
        stopped = CliRunner().invoke(main, command)
        assert stopped.exit_code == 2 and not (tmp_path / "rows.jsonl").exists()
        before = list(read_journal(tmp_path / "rows.jsonl.journal", JournalEntry))
        assert [entry.name for entry in before] == ["", "tail", "rest"]
        (tmp_path / "again").touch()
        asked_before = len(proposer.asked)
        finished = CliRunner().invoke(main, command)
        assert finished.exit_code == 0, finished.stderr
        assert "noise(values)" in proposer.asked[asked_before] and "3 rows" in finished.stdout
        asked_before = len(proposer.asked)
        assert CliRunner().invoke(main, command).exit_code == 0 and len(proposer.asked) == asked_before
    checked = CliRunner().invoke(main, ["data", "check", "rows.jsonl", "--json"])
    assert checked.exit_code == 0 and json.loads(checked.stdout)["outputs"] == 9


IDEA = Idea("def f(a, b=2):", "Adds.")


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("[[1], [2, 3]]", 2),
        ("```json\n[[1, 2], [3, 4]]\n```", 2),
        ("<think>[[9], [8]]</think>The calls: [[1], [2]].", 2),
        ("[(1,), (1, 2)]", 2),
        ("[[1], [1]]", None),
        ("[[1, 2, 3], [1]]", None),
        ("[[x], [y]]", None),
        ("[f(1), f(2)]", None),
        ("", None),
    ],
)
def test_inputs_are_literals_that_fit(reply, found):
    program = "def f(a, b=2):\n    return a + b\n"
    if found is None:
        with pytest.raises(NotRecorded):
            read_inputs(reply, program, "f", 2)
    else:
        assert len(read_inputs(reply, program, "f", 2)) == found


def test_headers_and_programs_that_cannot_be_used():
    bad = [
        {"header": "def f():", "description": "x"},
        {"header": 3},
        "text",
        {"header": "class A:", "description": ""},
    ]
    good = {"header": "def f(a) -> int :", "description": "Ok."}
    assert read_ideas(json.dumps([*bad, good])) == [Idea("def f(a):", "Ok.")]
    assert read_ideas("{") == [] and read_ideas("[1]") == []
    for code in ("def f(a):\n    return g(a)", "print(1)\ndef f(a):\n    return a", "def f(a) return"):
        with pytest.raises(NotRecorded):
            read_program(f"```python\n{code}\n```", IDEA)
