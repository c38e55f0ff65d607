"""EvalScope's own adapters; what they inherit from is replaced, MBPP's container by a process."""

import importlib.util
import json
import subprocess
import sys
import types
from pathlib import Path

import numpy  # noqa: F401  (what evalscope imports has imported it, in the process that it spawns as well)

ROOT = Path(sys.argv[1]) / "modelscope+evalscope" / "evalscope"


class Anything:
    """Stands for a base class, an enum or a logger that the functions under test do not use."""

    def __init__(self, *args, **kwargs):
        self.__dict__.update(kwargs)

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def stub(name, **members):
    module = sys.modules[name] = types.ModuleType(name)
    module.__dict__.update(members)
    module.__path__ = []
    return module


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(self, code, timeout, language):
    """ms-enclave's rule for the executor of Python: the exit code of ``python file`` decides."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    return {"status": "success" if done.returncode == 0 else "error"}


def prepare():
    logger = stub("evalscope.utils.logger", get_logger=lambda: Anything())
    base = type("Base", (), {"use_sandbox": True, "review_timeout": 20, "execute_code_in_sandbox": run})
    for name in ("evalscope", "evalscope.api", "evalscope.utils"):
        stub(name)
    sys.modules["evalscope.utils.logger"] = logger
    stub("evalscope.api.benchmark", BenchmarkMeta=Anything, DefaultDataAdapter=object)
    stub("evalscope.api.dataset", Sample=Anything)
    stub("evalscope.api.evaluator", TaskState=Anything)
    stub("evalscope.api.messages")
    stub("evalscope.api.messages.chat_message", ChatMessageUser=Anything)
    stub("evalscope.api.metric", Score=Anything)
    stub("evalscope.api.metric.semantics", MetricSelector=Anything)
    stub("evalscope.api.mixin", CodeExecutionSandboxMixin=base)
    stub("evalscope.api.registry", register_benchmark=lambda meta: lambda kind: kind)
    stub("evalscope.constants", Tags=Anything())
    load("utils/code_utils.py", "evalscope.utils.code_utils")
    mbpp = load("benchmarks/mbpp/mbpp_adapter.py", "mbpp_adapter")
    plus = load("benchmarks/mbppplus/mbppplus_adapter.py", "mbppplus_adapter")
    humaneval = load("benchmarks/humaneval/humaneval_adapter.py", "humaneval_adapter")
    return humaneval.HumanevalAdapter, mbpp, plus.MBPPplusAdapter


def state(row):
    return types.SimpleNamespace(metadata=row)


def passes(adapter, row, reply):
    extracted = adapter.extract_answer(reply, state(row))
    return adapter.match_score(reply, extracted, "", state(row)).value["acc"]


def main():
    requests = json.load(sys.stdin)
    humaneval_kind, mbpp_module, plus_kind = prepare()
    sys.path.insert(0, str(ROOT / "benchmarks" / "humaneval"))
    from utils import check_correctness

    humaneval, mbpp, plus = humaneval_kind(), mbpp_module.MBPPAdapter(), plus_kind()
    row = {"test_setup_code": "import math", "test_list": ["assert True"]}
    print(json.dumps({
        "humaneval": [humaneval.extract_answer(reply, state({})) for reply in requests["replies"]],
        "mbpp": [mbpp.extract_answer(reply, state(row)) for reply in requests["replies"]],
        "mbpp_plus": [plus.extract_answer(reply, state(row)) for reply in requests["replies"]],
        "humaneval verdicts": [
            check_correctness(row, humaneval._postprocess(reply), timeout=4)["passed"]
            for row, reply in requests["humaneval"]
        ],
        "mbpp verdicts": [passes(mbpp, row, reply) for row, reply in requests["mbpp"]],
        "mbpp_plus verdicts": [passes(plus, row, reply) for row, reply in requests["mbpp_plus"]],
        "prompts": [
            template.format(question=row["text"], tests="\n".join(row["test_list"]))
            for row in requests["prompts"] for template in (mbpp_module.FEWSHOT_PROMPT, mbpp_module.PROMPT)
        ],
    }))  # fmt: skip


if __name__ == "__main__":
    main()
