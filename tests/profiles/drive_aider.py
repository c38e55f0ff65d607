"""Aider's own benchmark on exercises, with replies in place of a model; needs Aider's own dependencies.

Everything from the prompt to the tests' outcome is Aider's; only the request itself and the linter are replaced.
"""

import importlib
import json
import os
import shutil
import sys
import types
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

PEERS = Path(sys.argv[1])
AIDER, EXERCISES = PEERS / "Aider-AI+aider", PEERS / "Aider-AI+polyglot-benchmark"
SENT, REPLIES = [], []


def prepare():
    """The module ``benchmark``, its tables and plots left out; None where Aider cannot be imported."""
    os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for name in ("lox", "pandas", "plots", "dotenv", "importlib_resources"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["plots"].plot_refactoring = sys.modules["dotenv"].load_dotenv = lambda **given: None
    sys.path[:0] = [str(AIDER / "benchmark"), str(AIDER)]
    coder = importlib.import_module("aider.coders.base_coder").Coder
    coder.send, coder.lint_edited = send, lambda self, edited: None
    # No request is made: neither the errors of one that failed nor a list of prices on the network is needed.
    importlib.import_module("aider.exceptions").LiteLLMExceptions._load = lambda self: None
    importlib.import_module("aider.models").ModelInfoManager._update_cache = lambda self: None
    return importlib.import_module("benchmark")


def send(self, messages, model=None, functions=None):
    SENT.append([{"role": one["role"], "content": one["content"]} for one in messages])
    self.partial_response_content, self.partial_response_function_call = REPLIES.pop(0), {}
    yield from ()


def run(benchmark, scratch, case, number):
    """Both tries of one case, in a copy of the exercise as Aider's main makes one."""
    parts = ("python", "exercises", "practice", case["name"])
    folder = scratch / f"run{number}" / Path(*parts)
    shutil.copytree(EXERCISES / Path(*parts), folder)
    SENT.clear()
    REPLIES[:] = case["replies"]
    flags = dict.fromkeys(("no_unit_tests", "no_aider", "verbose", "replay", "editor_model", "editor_edit_format"))
    found = benchmark.run_test_real(
        EXERCISES, folder, "openai/some-model", "whole", tries=len(case["replies"]), commit_hash="", **flags
    )
    file = case["name"].replace("-", "_") + ".py"
    return {
        "sent": list(SENT), "outcomes": found["tests_outcomes"], "left": (folder / file).read_text(),
    }  # fmt: skip


def main():
    cases = json.load(sys.stdin)["cases"]
    told = sys.stdout
    with open(os.devnull, "w") as nothing, redirect_stdout(nothing), redirect_stderr(nothing):
        try:
            benchmark = prepare()
        except ImportError as error:
            answer = {"missing": str(error)}
        else:
            scratch = Path(os.environ["SCRATCH"])
            answer = {"answers": [run(benchmark, scratch, case, number) for number, case in enumerate(cases)]}
    print(json.dumps(answer), file=told)


if __name__ == "__main__":
    main()
