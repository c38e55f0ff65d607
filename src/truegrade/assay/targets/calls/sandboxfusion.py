"""``sandboxfusion``: POST of ``{"code", "language", "stdin", ...}`` to ``/run_code``, a request a test case.

The output is compared here, as clients do, without newlines at its end: verl-project/verl@1dda039
``verl/utils/reward_score/sandbox_fusion/utils.py``; service: bytedance/SandboxFusion@469de08. Tests of functions
are appended to the program, which then passes by exit status 0.
"""

from __future__ import annotations

from typing import Any

from truegrade.assay.targets.calls.base import Call, Post, ProbeQuestion
from truegrade.assay.targets.readings import DIED, SCORE, Reading, no_verdict
from truegrade.grading.tests_forms import entry_point_of

MEMORY_MB = 1024


def _ask(asked: ProbeQuestion, post: Post) -> Any:
    """The answers to all requests, each with the output wanted, up to the first that is no answer."""
    if asked.form == "stdio":
        pairs = zip(asked.tests["inputs"], asked.tests["outputs"], strict=True)
        return [{"wanted": wanted, "answer": post(_body(asked, "", given))} for given, wanted in pairs]
    return [{"wanted": None, "answer": post(_body(asked, _appended(asked), ""))}]


def _appended(asked: ProbeQuestion) -> str:
    if asked.form == "check":
        return f"\n\n{asked.tests}\ncheck({entry_point_of(asked.problem)})\n"
    return "\n\n" + "\n".join(asked.tests) + "\n"


def _body(asked: ProbeQuestion, appended: str, stdin: str) -> dict[str, Any]:
    return {
        "compile_timeout": 10,
        "run_timeout": 10,
        "code": asked.program + appended,
        "stdin": stdin,
        "memory_limit_MB": MEMORY_MB,
        "language": "python",
        "files": {},
        "fetch_files": [],
        **asked.fields,
    }


def _reading(value: Any) -> Reading:
    """Passed if every case is; the score is the share."""
    right = 0
    for case in value:
        answer = case["answer"]
        status = answer.get("status") if isinstance(answer, dict) else None
        if status == "SandboxError":
            return Reading(None, None, no_verdict(DIED, f"SandboxError: {answer.get('message')}"))
        if status not in {"Success", "Failed"}:
            return Reading(None, None, no_verdict(SCORE, f"no answer of SandboxFusion's: {answer}"))
        right += status == "Success" and _as_wanted(answer.get("run_result") or {}, case["wanted"])
    if not value:
        return Reading(None, None, f"{SCORE} no test case")
    return Reading(right == len(value), right / len(value))


def _as_wanted(run: dict[str, Any], wanted: str | None) -> bool:
    if run.get("status") != "Finished":
        return False
    return wanted is None or str(run.get("stdout") or "").rstrip("\n") == wanted.rstrip("\n")


CALL = Call(name="sandboxfusion", ask=_ask, reads=_reading, tests_as="stdio")
