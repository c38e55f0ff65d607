"""simple-evals' own HumanEval, its sampler replaced by the replies that are asked."""

import importlib.util
import json
import sys
import types
from pathlib import Path

PEERS = Path(sys.argv[1])
PATH = PEERS / "openai+simple-evals" / "humaneval_eval.py"


def load():
    """The module, its report and type modules replaced by stubs."""
    sys.path.insert(0, str(PEERS / "openai+human-eval"))
    package = sys.modules["simple_evals"] = types.ModuleType("simple_evals")
    package.__path__ = [str(PATH.parent)]
    stubs = {
        "common": {"HTML_JINJA": "", "jinja_env": None},
        "types": dict.fromkeys(("Eval", "EvalResult", "SamplerBase", "SingleEvalResult"), object),
    }
    for name, members in stubs.items():
        module = types.ModuleType(f"simple_evals.{name}")
        module.__dict__.update(members)
        sys.modules[module.__name__] = module
        setattr(package, name, module)
    spec = importlib.util.spec_from_file_location("simple_evals.humaneval_eval", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Sampler:
    def __init__(self, reply):
        self.reply, self.asked = reply, []

    def _pack_message(self, role, content):
        return {"role": role, "content": content}

    def __call__(self, messages):
        self.asked.append(messages[0]["content"])
        return types.SimpleNamespace(response_text=self.reply)


def evaluate(module, sample, reply, grade):
    """One sample of one task: the message sent, the text graded, and the verdict if it is wanted."""
    graded = []
    run = module.check_correctness

    def check(sample, completion, timeout, index):
        graded.append(completion)
        return run(sample, completion, timeout, index) if grade else {"passed": False}

    sampler = Sampler(reply)
    evaluation = object.__new__(module.HumanEval)
    evaluation.examples, evaluation._num_samples_per_task, evaluation._ks_passes = [sample], 1, []
    template = types.SimpleNamespace(render=lambda **parts: parts["score"])
    module.common.jinja_env = types.SimpleNamespace(from_string=lambda text: template)
    module.common.map_with_progress = lambda call, samples, num_threads: [call(sample) for sample in samples]
    module.common.aggregate_results = lambda results: results[0]
    module.SingleEvalResult = lambda **parts: parts["score"]
    module.check_correctness = check
    try:
        score = evaluation(sampler)
    finally:
        module.check_correctness = run
    return sampler.asked[0], graded[0], bool(score == 1.0)


def main():
    requests = json.load(sys.stdin)
    module = load()
    cuts = [evaluate(module, requests["sample"], reply, False)[1] for reply in requests["replies"]]
    graded = [evaluate(module, sample, reply, True) for sample, reply in requests["rows"]]
    print(
        json.dumps({"cuts": cuts, "prompts": [row[0] for row in graded], "verdicts": [row[2] for row in graded]})
    )


if __name__ == "__main__":
    main()
