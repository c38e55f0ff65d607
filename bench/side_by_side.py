"""HumanEval by four tools on one local server: what the commands cost, and the number that each shows.

    python -m bench side_by_side --tools FOLDER --problems HumanEvalPlus.jsonl [--limit 20] [--rounds 3]
        [--base-url URL]

FOLDER holds a virtual environment for each peer: ``evalplus`` (`pip install evalplus==0.3.1`), ``lm-eval``
(`'lm-eval[api]==0.4.13'`) and ``inspect`` (`inspect-ai==0.3.285 inspect-evals==0.26.0 openai`); and, where their
download is not to be had, ``openai/openai_humaneval`` and ``code_eval`` as `datasets` and `evaluate` read them.
Without ``--base-url`` the server answers at once: a right program to all but every fourth problem, in a fence, so
that the share that is right is known. It works in this process, so that its little CPU time is everybody's. A tool
that is not in FOLDER is left out.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.planted import served
from bench.rounds import Way, compare, parser, run, table

SHOWN = {
    "truegrade": r"pass@1 .*",
    "evalplus": r"humaneval.*tests\)\npass@1:.*",
    "lm-eval": r"pass@1\|.*",
    "inspect": r"(?:accuracy|stderr|mean) .*",
}


def planted(rows: Sequence[dict[str, Any]]) -> Callable[[str], str]:
    """What answers a chat with the program of the problem whose prompt it holds, every fourth time a wrong one."""

    def reply(text: str) -> str:
        place, row = next((p, r) for p, r in enumerate(rows) if f"def {r['entry_point']}(" in text)
        body = "    return None\n" if place % 4 == 3 else row["canonical_solution"]
        return f"```python\n{row['prompt']}{body}\n```"

    return reply


def commands(folder: Path, base: str, model: str, limit: int) -> dict[str, tuple[list[str], dict[str, str]]]:
    """What a user types for each tool, and the variables that it asks for."""
    key = {"OPENAI_API_KEY": "x"}
    here = str(Path(sys.executable).with_name("truegrade"))
    ours = [here, "run", "humaneval", "--model", f"vllm/{model}", "--base-url", base]
    evalplus = [str(folder / "evalplus/bin/evalplus.evaluate"), "--model", model, "--dataset", "humaneval"]
    lm_eval = [str(folder / "lm-eval/bin/lm_eval"), "--model", "local-chat-completions", "--model_args"]
    inspect = [str(folder / "inspect/bin/inspect"), "eval", "inspect_evals/humaneval", "--model"]
    few = folder / "problems.jsonl"
    return {
        "truegrade": ([*ours, "--limit", str(limit), "--temperature", "0"], {}),
        "evalplus": (
            [*evalplus, "--backend", "openai", "--base-url", base, "--greedy"],
            key | {"HUMANEVAL_OVERRIDE_PATH": str(few)},
        ),
        "lm-eval": (
            [*lm_eval, f"model={model},base_url={base}/chat/completions", "--tasks", "humaneval_instruct",
             "--apply_chat_template", "--confirm_run_unsafe_code", "--limit", str(limit), "--log_samples",
             "--output_path", "out"],
            key | {"HF_ALLOW_CODE_EVAL": "1"},
        ),
        "inspect": (
            [*inspect, f"openai-api/local/{model}", "--limit", str(limit), "--epochs", "1", "--temperature", "0",
             "-T", "sandbox=local", "--display", "plain"],
            {"LOCAL_API_KEY": "x", "LOCAL_BASE_URL": base},
        ),
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    given = parser(__doc__, rounds=3, workers=None)
    given.add_argument("--tools", type=Path, required=True)
    given.add_argument("--problems", type=Path, required=True)
    given.add_argument("--limit", type=int, default=20)
    given.add_argument("--base-url")
    given.add_argument("--model", default="truegrade-micro")
    asked = given.parse_args()
    folder = asked.tools.resolve()
    lines = asked.problems.read_text().splitlines()[: asked.limit]
    (folder / "problems.jsonl").write_text("\n".join(lines) + "\n")
    said: dict[str, str] = {}

    def way(name: str, words: list[str], variables: dict[str, str]) -> Way:
        def once() -> None:
            place = folder / "rounds" / name
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            for needed in ("openai", "code_eval"):
                if (folder / needed).exists():
                    (place / needed).symlink_to(folder / needed)
            said[name] = run(words, cwd=place, env=os.environ | variables).stdout

        return once

    with served(planted([json.loads(line) for line in lines])) as address, table():
        tools = commands(folder, asked.base_url or address, asked.model, asked.limit)
        ways = {name: way(name, *each) for name, each in tools.items() if Path(each[0][0]).exists()}
        compare("HumanEval, one reply each", ways, asked.rounds, amount=asked.limit, warm=False)
    for name, text in said.items():
        print(f"{name}: {'; '.join(' '.join(part.split()) for part in re.findall(SHOWN[name], text))}")
