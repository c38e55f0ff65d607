"""ClassEval's own prompts, extraction and unit tests; each reply in a process and a folder of its own."""

import importlib
import json
import os
import sys
import tempfile
import time
import types
from pathlib import Path

HARNESS = Path(sys.argv[1]) / "FudanSELab+ClassEval"
MODELS = {"default": 8, "plain": 13, "magicoder": 11, "skeleton": 4}
"""`ModelName` of a model that is asked so."""


def prepare():
    for name in ("torch", "transformers", "tqdm", "openai"):
        sys.modules[name] = types.ModuleType(name)
    for name in ("AutoModelForCausalLM", "AutoTokenizer", "GenerationConfig", "AutoModel"):
        setattr(sys.modules["transformers"], name, None)
    sys.modules["tqdm"].tqdm = iter
    sys.path[:0] = [str(HARNESS / "classeval_evaluation"), str(HARNESS / "generation")]
    asking, testing = importlib.import_module("inference_pipeline"), importlib.import_module("test_pipeline")
    testing.PathUtil.log_output_data = staticmethod(lambda name, ext: os.devnull)  # not into the checkout
    return asking, testing


def prompts(asking, row):
    pipeline = object.__new__(asking.InferencePipeline)
    found = {}
    for style, pipeline.model_name in MODELS.items():
        found[style] = pipeline.construct_prompt(asking.GenerationStrategy.Holistic, row)
    return found


def graded(testing, row, reply):
    test = object.__new__(testing.AutoTest)
    name = row["task_id"]
    test.eval_data = {name: row}
    Path("predictions.json").write_text(json.dumps([{"task_id": name, "predict": [reply]}]))
    programs = test.gen_code_list("predictions.json")[name]
    yield programs[0]
    test.gen_py_file(name, programs, row["test"])
    sys.path.insert(0, "")
    (results,) = test.test(1, name, row["test_classes"], "m").values()
    yield [test.get_test_answer(counts) for counts in results.values()]


def apart(testing, row, reply):
    """What becomes of a reply, in a fork: the program, and a word a class of tests; none if the process ends."""
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        program, results = Path(folder, "program.out"), Path(folder, "results.out")
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            steps = graded(testing, row, reply)
            program.write_text(next(steps))
            results.write_text(json.dumps(next(steps)))
            os._exit(0)
        used = os.wait4(child, 0)[2]
        said = results.read_text() if results.exists() else ""
        found = {"program": program.read_text(), "results": json.loads(said) if said else None}
        return found | {"cpu_s": used.ru_utime + used.ru_stime + time.process_time() - began}


def main():
    requests = json.load(sys.stdin)
    asking, testing = prepare()
    sys.stdout.flush()
    answers = [apart(testing, row, reply) for row, reply in requests["cases"]]
    print("\n" + json.dumps({"answers": answers, "prompts": [prompts(asking, row) for row in requests["rows"]]}))


if __name__ == "__main__":
    main()
