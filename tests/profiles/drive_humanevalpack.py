"""HumanEvalPack's tasks of bigcode-evaluation-harness, with the metric that it loads from the Hub."""

import importlib
import json
import os
import sys
import types
from pathlib import Path

PEERS = Path(sys.argv[1])
HARNESS, METRIC = PEERS / "bigcode-project+bigcode-evaluation-harness", PEERS / "infi-coder+infibench-evaluator"


class Rows(list):
    """The part of `datasets.Dataset` that the tasks use."""

    def select(self, places):
        return Rows(self[place] for place in places)


def load_metric(name):
    """The metric's own class; what it inherits of `evaluate` only documents it."""
    assert name == "Muennighoff/code_eval_octopack"
    metric = importlib.import_module("code_eval_octopack.code_eval_octopack").CodeEval()
    metric.compute = metric._compute
    return metric


def prepare():
    os.environ["HF_ALLOW_CODE_EVAL"] = "1"
    for name in ("datasets", "evaluate", "torch", "torch.utils", "torch.utils.data"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["datasets"].load_dataset = lambda **where: {}
    sys.modules["torch.utils.data"].IterableDataset = object
    evaluate = sys.modules["evaluate"]
    evaluate.load, evaluate.Metric = load_metric, object
    documents = types.SimpleNamespace(add_start_docstrings=lambda *texts: lambda kind: kind)
    evaluate.utils = types.SimpleNamespace(file_utils=documents)
    tasks = sys.modules["bigcode_eval.tasks"] = types.ModuleType("bigcode_eval.tasks")
    tasks.__path__ = [str(HARNESS / "bigcode_eval" / "tasks")]
    sys.path[:0] = [str(HARNESS), str(METRIC)]
    return importlib.import_module("bigcode_eval.tasks.humanevalpack")


def main():
    requests = json.load(sys.stdin)
    pack = prepare()
    makers = {
        "docs": lambda: pack.create_task("python", "fixdocs")(),
        "tests": lambda: pack.create_task("python", "fixtests")(),
        "instruct": lambda: pack.create_task("python", "synthesize")(),
        "describe": lambda: pack.create_task("python", "explaindescribe")(),
        "explain": lambda: pack.create_task("python", "explainsynthesize")(load_data_path="descriptions.json"),
        "continue": lambda: pack.create_task("python", "synthesize")(prompt="continue"),
    }
    Path("descriptions.json").write_text('[["It does."]]')
    answers = []
    for style, row, reply in requests["cases"]:
        task = makers[style]()
        task.dataset = {"test": Rows([row])}
        row = task.get_dataset()[0]  # of the second step of HumanEvalExplain with the description
        prompt = task.get_prompt(row)
        generation = task.postprocess_generation(prompt + reply, 0)
        answer = {"prompt": prompt, "program": generation}
        if style != "describe":
            found = task.process_results([[generation]], [task.get_reference(row)])
            answer["passed"] = bool(found["pass@1"] == 1.0)
        answers.append(answer)
    print(json.dumps({"answers": answers, "stops": makers["docs"]().stop_words}))


if __name__ == "__main__":
    os.chdir(os.environ["SCRATCH"])  # the task writes its logs where it runs
    main()
