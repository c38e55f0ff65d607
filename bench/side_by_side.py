"""HumanEval by four tools on one local server: seconds, CPU seconds and the number that each shows.

    python bench/side_by_side.py --tools FOLDER --problems HumanEvalPlus.jsonl [--limit 20] [--rounds 3]
        [--base-url URL]

FOLDER holds a virtual environment for each peer: ``evalplus`` (`pip install evalplus==0.3.1`), ``lm-eval``
(`'lm-eval[api]==0.4.13'`) and ``inspect`` (`inspect-ai==0.3.285 inspect-evals==0.26.0 openai`); and, where their
download is not to be had, ``openai/openai_humaneval`` and ``code_eval`` as `datasets` and `evaluate` read them.
Without ``--base-url`` the server answers at once: a right program to all but every fourth problem, in a fence, so
that the share that is right is known. The tools take turns, a round each; the server's CPU time is not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SHOWN = {
    "truegrade": r"pass@1 .*",
    "evalplus": r"humaneval.*tests\)\npass@1:.*",
    "lm-eval": r"pass@1\|.*",
    "inspect": r"(?:accuracy|stderr|mean) .*",
}


def planted(rows: Sequence[dict[str, Any]]) -> type[BaseHTTPRequestHandler]:
    """What answers a chat with the program of the problem whose prompt it holds, every fourth time a wrong one."""

    def reply(text: str) -> str:
        place, row = next((p, r) for p, r in enumerate(rows) if f"def {r['entry_point']}(" in text)
        body = "    return None\n" if place % 4 == 3 else row["canonical_solution"]
        return f"```python\n{row['prompt']}{body}\n```"

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = {"role": "assistant", "content": reply(json.dumps(asked["messages"]))}
            choice = {"index": 0, "finish_reason": "stop", "message": message}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            told = {"id": "1", "object": "chat.completion", "created": 0, "model": asked["model"]}
            body = json.dumps(told | {"choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


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


def timed(
    words: list[str], variables: dict[str, str], folder: Path, shown: str
) -> tuple[float, float, float, str]:
    """Wall seconds to the number and to the end, CPU seconds with all children's, and what was printed."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    there, text = 0.0, ""
    with subprocess.Popen(
        words, cwd=folder, env=os.environ | variables | {"PYTHONUNBUFFERED": "1"}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        for line in process.stdout or ():
            text += line
            if not there and re.search(shown, text):
                there = time.monotonic() - began
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert process.returncode == 0 and there, text[-3000:]
    return there, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, required=True)
    parser.add_argument("--problems", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--base-url")
    parser.add_argument("--model", default="truegrade-micro")
    asked = parser.parse_args()
    folder = asked.tools.resolve()
    lines = asked.problems.read_text().splitlines()[: asked.limit]
    (folder / "problems.jsonl").write_text("\n".join(lines) + "\n")
    server = ThreadingHTTPServer(("127.0.0.1", 0), planted([json.loads(line) for line in lines]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = asked.base_url or f"http://127.0.0.1:{server.server_port}/v1"
    taken: dict[str, list[tuple[float, float, float, str]]] = {}
    for number in range(asked.rounds):
        tools = list(commands(folder, base, asked.model, asked.limit).items())
        for name, (words, variables) in tools[number % 4 :] + tools[: number % 4]:
            place = folder / "rounds" / name
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            for needed in ("openai", "code_eval"):
                if (folder / needed).exists():
                    (place / needed).symlink_to(folder / needed)
            taken.setdefault(name, []).append(timed(words, variables, place, SHOWN[name]))
            there, wall, cpu, text = taken[name][-1]
            (folder / f"{name}.txt").write_text(text)
            figures = f"{there:.1f} s to the number, {wall:.1f} s in all, {cpu:.1f} CPU s"
            print(f"round {number + 1}: {name} {figures}, load {os.getloadavg()[0]:.1f}", flush=True)
    for name, rounds in taken.items():
        there, wall, cpu = (statistics.median(figures) for figures in list(zip(*rounds, strict=True))[:3])
        shown = "; ".join(" ".join(part.split()) for part in re.findall(SHOWN[name], rounds[-1][3]))
        print(f"{name}: medians {there:.1f} s to the number, {wall:.1f} s in all, {cpu:.1f} CPU s: {shown}")


if __name__ == "__main__":
    main()
