"""BigCodeBench's own prompts, sanitizer and check."""

import importlib
import json
import os
import sys
import types
from pathlib import Path

PEER = Path(sys.argv[1]) / "bigcode-project+bigcodebench"


def prepare():
    """Import the harness without what it only needs for downloads, models and progress bars."""
    for name in ("transformers", "tqdm", "pqdm", "pqdm.processes", "bigcodebench.data", "termcolor"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["transformers"].AutoTokenizer = object
    sys.modules["tqdm"].tqdm = iter
    sys.modules["pqdm.processes"].pqdm = None
    sys.modules["termcolor"].colored = str
    for name in ("get_bigcodebench", "load_solutions", "write_directory", "write_jsonl"):
        setattr(sys.modules["bigcodebench.data"], name, None)
    provider = sys.modules["bigcodebench.provider"] = types.ModuleType("bigcodebench.provider")
    provider.__path__ = [str(PEER / "bigcodebench" / "provider")]
    sys.path.insert(0, str(PEER))
    return [importlib.import_module(f"bigcodebench.{name}") for name in ("provider.utility", "sanitize", "eval")]


def main():
    requests = json.load(sys.stdin)
    utility, sanitizing, evaluation = prepare()
    # As `bigcodebench.generate` has it by default.
    instruction = (
        "Please provide a self-contained Python script that solves the following problem in a markdown code block:"
    )
    prompts = [
        utility.make_raw_chat_prompt(text, "full", split, instruction, "unused", None)
        for split, text in requests["prompts"]
    ]
    sanitized = [sanitizing.sanitize(reply, "task_func") for reply in requests["replies"]]
    statuses = []
    for row, solution in requests["checks"]:
        calibrated = row["prompt_wo_doc"] + "\n    pass\n" + solution
        limits = (30 * 1024, 30 * 1024, 10)
        status, _ = evaluation.untrusted_check(calibrated, row["test"], row["entry_point"], *limits, 1, 20)
        statuses.append(status)
    stops = [utility.EOS, utility.extra_eos_for_direct_completion("bigcodebench")]
    print(json.dumps({"prompts": prompts, "sanitized": sanitized, "statuses": statuses, "stops": stops}))


if __name__ == "__main__":
    os.chdir(os.environ["SCRATCH"])
    main()
