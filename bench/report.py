"""How large a report is, how long it takes to write, and how soon it can be used.

    python -m bench report [N, default 10000] [SAMPLES A PROBLEM, default 10]

Writes the report of N samples of two profiles, whose replies are pieces of the standard library cut to the length
of ordinary replies, and prints its size, the seconds that writing took, and, where chromium and playwright are
present, its elements, the seconds until the list can be used, and those of a search in all texts.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import msgspec

from truegrade.pipeline.summary import summarise_run
from truegrade.profiles import open_profile
from truegrade.records import Completion, FunctionTask, Message, Problem, Prompt, Reason, Usage, Verdict
from truegrade.records.config import GenerationConfig
from truegrade.report.html import write_report
from truegrade.store import BenchmarkIdentity, Manifest, Run

PROFILES = ("strict", "human-eval")
REPLY_CHARS = (300, 3_000)


def main() -> None:
    """Build, write, open, print."""
    count, each = (int(number) for number in (*sys.argv[1:], *("10000", "10")[len(sys.argv) - 1 :]))
    with tempfile.TemporaryDirectory(prefix="truegrade-bench-") as folder:
        run = build(Path(folder) / "run", count, each)
        began = time.perf_counter()
        page = write_report(run)
        written_s = time.perf_counter() - began
        print(f"{count} samples, {run.completions_path.stat().st_size / 1e6:.1f} MB of completions")
        print(f"page {page.stat().st_size / 1e6:.1f} MB, written in {written_s:.1f} s")
        look_at(page)


def build(path: Path, count: int, each: int) -> Run:
    """A graded run of ``count`` samples, ``each`` of a problem; the verdicts are drawn, not graded."""
    random = Random(0)
    source = "".join(
        file.read_text(errors="replace") for file in sorted(Path(random_file()).parent.glob("[a-h]*.py"))
    )
    tasks = [f"Bench/{number}" for number in range(-(-count // each))]
    problems = {name: _problem(name) for name in tasks}
    config = GenerationConfig(model="bench/none", prompt_rule="none")
    run = Run.create_or_resume(path, _manifest(config, len(tasks), each))
    prompt = Prompt(messages=(Message(role="user", content=source[:600]),), source="bench")
    run.add_prompts((name, prompt) for name in tasks)
    keys = [(name, sample) for name in tasks for sample in range(each)][:count]
    replies = {}
    facts = {"benchmark": "bench", "dataset_sha256": "0" * 64, "config_sha256": config.sha256}
    with run.append_completions() as journal:
        for name, sample in keys:
            start = random.randrange(len(source))
            replies[name, sample] = source[start : start + random.randint(*REPLY_CHARS)]
            usage = Usage(input_tokens=200, output_tokens=len(replies[name, sample]) // 4)
            key = facts | {"problem_id": name, "sample": sample}
            text = f"Here it is:\n```python\n{replies[name, sample]}\n```"
            journal.append(
                Completion(
                    **key, prompt_sha256="", text=text, model="none", usage=usage, latency_s=random.random()
                )
            )
    profiles = [open_profile(name) for name in PROFILES]
    reasons = [Reason.PASSED, Reason.PASSED, Reason.WRONG_ANSWER, Reason.RUNTIME_ERROR]
    for profile in profiles:
        with run.append_verdicts(profile.id) as verdicts:
            for (name, sample), answer in replies.items():
                reason = random.choice(reasons)
                key = facts | {"problem_id": name, "sample": sample, "completion_sha256": ""}
                detail = f"`assert f({start}) == {sample}` failed; the program returned None"
                verdicts.append(
                    Verdict(**key, profile=profile.id, passed=reason is Reason.PASSED, reason=reason,
                            answer=answer, detail="" if reason is Reason.PASSED else detail)
                )  # fmt: skip
        run.record_grading(profile.id, 3)
    run.write("summary.json", msgspec.json.encode(summarise_run(run, problems, profiles)))
    return run


def random_file() -> str:
    """A file of the standard library."""
    return shutil.__file__


def look_at(page: Path) -> None:
    """Open the page in chromium and print how long it took."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        print("chromium or playwright is missing: the page was not opened")
        return
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        window = browser.new_page()
        began = time.perf_counter()
        window.goto(page.as_uri())
        window.wait_for_selector("#sample pre")
        elements = window.evaluate("document.querySelectorAll('*').length")
        print(f"usable after {time.perf_counter() - began:.2f} s, {elements} elements")
        began = time.perf_counter()
        window.fill("#find", "in no text at all")
        window.locator("#found", has_text=re.compile("^0 of")).wait_for()
        print(f"all texts searched after {time.perf_counter() - began:.2f} s")
        browser.close()


def _problem(name: str) -> Problem:
    task = FunctionTask(prompt="", entry_point="f", tests="", reference="")
    return Problem(id=name, benchmark="bench", dataset_sha256="0" * 64, cluster=name, task=task)


def _manifest(config: GenerationConfig, tasks: int, each: int) -> Manifest:
    return Manifest(
        created="2026-01-01T00:00:00+00:00",
        benchmark=BenchmarkIdentity(name="bench", dataset_sha256="0" * 64, source="none", problems=tasks),
        generation=config,
        samples_per_task=each,
    )
