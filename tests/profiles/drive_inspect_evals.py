"""The tasks of inspect_ai @27a087b, their container replaced by a process."""

import asyncio
import json
import subprocess
import sys
import types
from collections import namedtuple
from pathlib import Path

REPOSITORY = Path(sys.argv[1]) / "UKGovernmentBEIS+inspect_ai"
ExecResult = namedtuple("ExecResult", "success returncode stdout stderr")


class Process:
    async def exec(self, cmd, timeout):
        done = subprocess.run([sys.executable, *cmd[1:]], capture_output=True, text=True, timeout=60)
        return ExecResult(done.returncode == 0, done.returncode, done.stdout, done.stderr)


def stub(name, **members):
    module = sys.modules[name] = types.ModuleType(name)
    module.__dict__.update(members)


def keep(value):
    return lambda *args, **kwargs: value


def load(task, shots):
    source = subprocess.run(["git", "-C", str(REPOSITORY), "show", f"27a087b:src/inspect_evals/{task}/{task}.py"],
                            capture_output=True, text=True, check=True).stdout  # fmt: skip
    data = type("Data", (list,), {"filter": lambda self, wanted: [row for row in self if wanted(row)]})
    stub("datasets", load_dataset=keep(data(shots)))
    module = types.ModuleType(task)
    exec(compile(source, task, "exec"), module.__dict__)
    return module


def prepare():
    record = types.SimpleNamespace
    stub("inspect_ai", Epochs=keep(None), Task=lambda **parts: parts, task=lambda function: function)
    stub("inspect_ai.dataset", Sample=lambda **parts: record(**parts), hf_dataset=keep(None))
    stub("inspect_ai.model", GenerateConfig=keep(None))
    scorers = {"CORRECT": True, "INCORRECT": False, "Score": lambda **parts: record(**parts), "Scorer": object}
    stub("inspect_ai.scorer", **scorers, Target=object, mean=keep(None), std=keep(None),
         scorer=lambda metrics: lambda function: function)  # fmt: skip
    stub("inspect_ai.solver", TaskState=object, generate=keep(None), prompt_template=lambda template: template)
    stub("inspect_ai.util", ExecResult=ExecResult, sandbox=lambda: Process())


def verdict(module, row, reply):
    state = types.SimpleNamespace(output=types.SimpleNamespace(completion=reply), metadata=row)
    target = types.SimpleNamespace(target=row.get("test_list"))
    return asyncio.run(module.verify()(state, target)).value


def main():
    requests = json.load(sys.stdin)
    prepare()
    humaneval, mbpp = load("humaneval", []), load("mbpp", requests["shots"])
    template = mbpp.mbpp()["solver"][0]
    print(json.dumps({
        "humaneval": [humaneval.find_code(reply) for reply in requests["replies"]],
        "mbpp": [mbpp.find_code(reply) for reply in requests["replies"]],
        "humaneval verdicts": [verdict(humaneval, row, reply) for row, reply in requests["humaneval"]],
        "mbpp verdicts": [verdict(mbpp, row, reply) for row, reply in requests["mbpp_rows"]],
        "prompts": [humaneval.record_to_sample(row).input for row, _ in requests["humaneval"]],
        "mbpp prompts": [
            template.format(prompt=row["prompt"], test_list_str="\n".join(row["test_list"]))
            for row, _ in requests["mbpp_rows"]
        ],
    }))  # fmt: skip


if __name__ == "__main__":
    main()
