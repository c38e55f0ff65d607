"""CWEval's own prompts, extraction and tests; each reply in a process and a folder of its own."""

import importlib
import json
import os
import sys
import tempfile
import time
import types
from pathlib import Path

HARNESS = Path(sys.argv[1]) / "Co1lin+CWEval"


class Asked:
    """Stands where a model would: keeps what it is sent."""

    def send_message(self, messages):
        self.said = messages[0]["content"]
        return [""]


def prepare():
    for name in (
        "fire",
        "natsort",
        "p_tqdm",
        "docker",
        "docker.models",
        "docker.models.containers",
        "litellm",
        "tqdm",
    ):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["natsort"].natsorted = sorted
    sys.modules["p_tqdm"].p_map = sys.modules["tqdm"].tqdm = None
    sys.modules["docker"].models = sys.modules["docker.models"]
    sys.modules["docker.models.containers"].Container = object
    # Of the plugins that are installed here the harness asks for one.
    os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "pytest_timeout"}
    sys.path.insert(0, str(HARNESS))
    return [importlib.import_module(f"cweval.{name}") for name in ("ppt", "evaluate", "run_tests")]


def prompts(ppt, code):
    found = {}
    for style, name in (("default", "direct"), ("secure", "secure"), ("compl", "compl")):
        asked = Asked()
        ppt.make_prompt(name).req_ai(asked, "py", code)
        found[style] = asked.said
    return found


def code_prompts(folder):
    """The code that a model is shown, by the generator's own rule."""
    generate = importlib.import_module("cweval.generate")
    generate.BENCHMARK_DIR = str(folder / "benchmark")
    gener = object.__new__(generate.Gener)
    gener.langs, gener.exclude_path, gener.include_path, gener.eval_path = ["py"], [], ["core/py"], ""
    cases = gener._get_cases()
    return {Path(path).stem.removesuffix("_task"): case["code_prompt"] for path, case in cases.items()}


def graded(evaluate, tests, checkout, name, reply):
    generated = Path("generated_0").absolute()
    folder = generated / "core" / "py"
    folder.mkdir(parents=True)
    raw = folder / f"{name}_raw.py"
    raw.write_text(reply)
    evaluate.BENCHMARK_DIR = str(checkout / "benchmark")
    evaler = object.__new__(evaluate.Evaler)
    evaler.generated_paths = [str(generated)]
    evaler.task_files = []
    program = evaler._parse_raw_file(str(raw))
    yield program
    evaler._parse_raw_write_task(str(raw))
    evaler._copy_test_files()
    # Its 3 s are of wall time, within which a busy machine makes no key of 2,048 bits.
    found = tests.run_tests(str(generated), timeout_per_test=60)
    yield [found[0].functional, found[0].secure] if found else None


def apart(evaluate, tests, checkout, name, reply):
    """What becomes of a reply, in a fork: program, functional, secure; None if nothing was collected."""
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        program, results = Path(folder, "program.out"), Path(folder, "results.out")
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            steps = graded(evaluate, tests, checkout, name, reply)
            program.write_text(next(steps))
            results.write_text(json.dumps(next(steps)))
            os.kill(os.getpid(), 9)  # the harness puts nothing in place of os._exit but while tests run
        used = os.wait4(child, 0)[2]
        said = results.read_text() if results.exists() else "null"
        found = {"program": program.read_text(), "results": json.loads(said)}
        return found | {"cpu_s": used.ru_utime + used.ru_stime + time.process_time() - began}


def main():
    requests = json.load(sys.stdin)
    ppt, evaluate, tests = prepare()
    checkout = Path(requests["checkout"] or HARNESS)
    shown = code_prompts(checkout)
    answers = [apart(evaluate, tests, checkout, name, reply) for name, reply in requests["cases"]]
    print("\n" + json.dumps({"answers": answers, "prompts": {name: prompts(ppt, shown[name]) for name in shown}}))


if __name__ == "__main__":
    main()
