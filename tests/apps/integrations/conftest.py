"""A service that gives each HumanEval question one scripted reply, and Truegrade's own verdicts on these replies.

Right and wrong, fenced and raw, cut, empty and odd: whatever asks, gets the same text for the same question. How
each tool is run stands here too, since more than one file of tests runs it.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import truegrade
from support import scripted_server as scripted
from truegrade.benchmarks import load_benchmark
from truegrade.profiles import open_profile

ROWS = 24
KEY = "no-secret"


def fenced(code):
    return f"Here it is.\n\n```python\n{code}\n```\n"


def raising(task):
    return f"{task.prefix}    raise ValueError(1)\n"


FORMS = (
    lambda task: (fenced(task.reference), "stop"),
    lambda task: (fenced(raising(task)), "stop"),
    lambda task: (f"<think>first\n```python\nx = 1\n```</think>\n{task.reference}", "stop"),
    lambda task: ("I would rather not.", "stop"),
    lambda task: (task.reference.removeprefix(task.prefix), "stop"),
    lambda task: (f"```python\n{task.prefix}    return None", "length"),
    lambda task: (fenced(task.reference + "\nimport os\nos._exit(0)"), "stop"),
    lambda task: (fenced(task.reference.replace("return", "return not", 1)), "stop"),
    lambda task: (fenced(raising(task)) + "Better:\n" + fenced(task.reference), "stop"),
    lambda task: (fenced(task.reference + "\n# 𝔘nicode \u2028 and a tab\t").replace("\n", "\r\n"), "stop"),
    lambda task: ("", "stop"),
    lambda task: (f"{task.reference}\nassert {task.entry_point} is not None\nprint('done')", "stop"),
)


@dataclass
class Replies:
    """The service, and what Truegrade says to its replies."""

    url: str
    data: Path
    passed: dict
    """Problem id to whether the reply passes."""
    reasons: dict

    @property
    def accuracy(self):
        return sum(self.passed.values()) / len(self.passed)


@pytest.fixture(scope="session")
def replies(data_dir, tmp_path_factory):
    problems = load_benchmark("humaneval", data_dir).problems[:ROWS]
    profile = open_profile("strict")
    script = {
        profile.render_prompt(problem).messages[-1].content: FORMS[row % len(FORMS)](problem.task)
        for row, problem in enumerate(problems)
    }

    def answer(body):
        asked = text_of(body["messages"][-1]["content"])
        if asked not in script:
            return scripted.error(400, f"this question is not scripted: {asked[:60]!r}")
        text, reason = script[asked]
        return scripted.Answer(scripted.chat(text, finish_reason=reason, model="scripted"))

    with scripted.scripted_server(answer) as server:
        run = truegrade.run(
            "humaneval", model="openai-compatible/scripted", base_url=server.url, data=data_dir, limit=ROWS,
            out=tmp_path_factory.mktemp("own") / "run",
        )  # fmt: skip
        verdicts = list(run.verdicts())
        yield Replies(
            url=server.url,
            data=data_dir,
            passed={verdict.problem_id: verdict.passed for verdict in verdicts},
            reasons={verdict.problem_id: verdict.reason.value for verdict in verdicts},
        )


def text_of(content):
    """The words of a message, sent as text or as parts."""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@pytest.fixture
def tool(tmp_path):
    """Run a tool's command line without a network, in an empty folder; returns what it printed."""

    def run(*command, **environment):
        offline = {
            "HOME": str(tmp_path),
            "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_OFFLINE": "1",
            "http_proxy": "http://127.0.0.1:9",
            "https_proxy": "http://127.0.0.1:9",
            "no_proxy": "127.0.0.1,localhost",
            "OPENAI_API_KEY": KEY,
            **environment,
        }
        inherited = {key: value for key, value in os.environ.items() if key in ("PATH", "PYTHONPATH", "LANG")}
        unsafe = {"TRUEGRADE_ALLOW_UNSAFE": "1"}
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=inherited | unsafe | offline, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-4000:]
        return done.stdout

    return run


INSPECT_MODEL = ("--model", "openai-api/scripted/scripted", "--model-base-url")
INSPECT_KEYS = {"SCRIPTED_API_KEY": "none"}


@pytest.fixture
def inspect_runs(tool, replies, tmp_path):
    """Let Inspect run a task, ours unless another is named; returns the log's path."""
    pytest.importorskip("inspect_ai.log", reason="the extra [inspect] is not installed")

    def run(*options, task="truegrade/humaneval"):
        ours = ("-T", f"data={replies.data}") if task.startswith("truegrade/") else ()
        tool(
            "-m", "inspect_ai", "eval", task, *INSPECT_MODEL, replies.url, *ours, "--log-dir", "logs",
            "--display", "plain", *options, **INSPECT_KEYS,
        )  # fmt: skip
        (path,) = Path(tmp_path / "logs").glob("*.eval")
        return path

    return run


LM_EVAL_TASK = "truegrade_humaneval_strict"


@pytest.fixture
def lm_eval_runs(tool, replies, tmp_path):
    """Write our tasks by our command, let the harness run them; returns results and the path of its samples."""
    pytest.importorskip("lm_eval", reason="the extra [lm-eval] is not installed")

    def run(repeats=1):
        tool(
            "-m", "truegrade", "export", "humaneval", "--format", "lm-eval", "--out", "tasks",
            "--data", str(replies.data), "-n", str(repeats),
        )  # fmt: skip
        model = f"model=scripted,base_url={replies.url}/chat/completions,num_concurrent=4,tokenizer_backend=none"
        tool(
            "-m", "lm_eval", "run", "--model", "local-chat-completions", "--model_args", model,
            "--apply_chat_template", "--include_path", "tasks", "--tasks", LM_EVAL_TASK, "--limit",
            str(len(replies.passed)), "--output_path", "out", "--log_samples",
        )  # fmt: skip
        (results,) = Path(tmp_path / "out").rglob("results_*.json")
        (samples,) = Path(tmp_path / "out").rglob(f"samples_{LM_EVAL_TASK}_*.jsonl")
        return json.loads(results.read_text())["results"][LM_EVAL_TASK], samples

    return run


EVALSCOPE_NAME = "truegrade_humaneval"


@pytest.fixture
def evalscope_runs(tool, replies, tmp_path):
    """Let EvalScope run our benchmark; returns the paths of predictions and reviews, and its report."""
    pytest.importorskip("evalscope", reason="the extra [evalscope] is not installed")

    def run(*options, **parameters):
        arguments = {EVALSCOPE_NAME: {"local_path": str(replies.data), "extra_params": parameters}}
        tool(
            "-m", "truegrade.apps.integrations.evalscope", "eval", "--model", "scripted",
            "--eval-type", "openai_api", "--api-url", replies.url, "--api-key", "none",
            "--datasets", EVALSCOPE_NAME, "--limit", str(len(replies.passed)),
            "--dataset-args", json.dumps(arguments), "--work-dir", "evalscope", *options,
        )  # fmt: skip
        out = Path(tmp_path / "evalscope")
        (predictions,) = out.rglob(f"predictions/**/{EVALSCOPE_NAME}*.jsonl")
        (reviews,) = out.rglob(f"reviews/**/{EVALSCOPE_NAME}*.jsonl")
        (report,) = out.rglob(f"reports/**/{EVALSCOPE_NAME}.json")
        return predictions, reviews, json.loads(report.read_text())

    return run


@pytest.fixture
def lines_of():
    """Read JSON Lines, in which U+2028 ends no line."""
    return lambda path: [json.loads(line) for line in Path(path).read_bytes().splitlines()]
