"""Calls code rewards of others as their trainers call them: a reply and its tests in, what they pay out.

`assay_rewards.py` copies this file into a folder beside the sources that it names, and every grader is a function
here: ``f(solution_str, ground_truth)``, the latter a text (`truegrade.apps.assay.targets.calls`). Modules that
they import and that the measured path does not use are replaced by empty ones. What stands in for a service that
the path does use is said where it is.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import types
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

PEERS = Path(__file__).parent / "peers"


def _module(name: str, **content: Any) -> types.ModuleType:
    """Put a module of ours where an import will look for it."""
    module = types.ModuleType(name)
    vars(module).update(content)
    return sys.modules.setdefault(name, module)


def _package(name: str, repository: str, folder: str) -> None:
    """A package whose modules are found in a folder, and whose ``__init__`` is not run."""
    _module(name, __path__=[str(PEERS / repository / folder)])


def _quietly(call: Any, *given: Any, **named: Any) -> Any:
    with Path(os.devnull).open("w") as nothing, contextlib.redirect_stdout(nothing):
        return call(*given, **named)


def _warm() -> None:
    """Import what a trainer's process has imported, before a guard takes functions of `os` away."""
    for name in ("numpy", "pandas"):
        importlib.import_module(name)


def _method(repository: str, file: str, name: str) -> Any:
    """A function out of a file whose imports are not there."""
    tree = ast.parse((PEERS / repository / file).read_text())
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name]
    names: dict[str, Any] = {"re": re}
    exec(ast.unparse(found[0]), names)
    return names[name]


def _commands() -> None:
    """Let the commands that `assay_rewards.py` wrote beside this file be found by their names."""
    folder = str(PEERS.with_name("commands"))
    if folder not in os.environ["PATH"]:
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


# -------------------------------------------------------------------------------------------------- verl


def verl_prime(solution_str: str, ground_truth: str) -> float:
    """``prime_code``, called as ``default_compute_score`` does."""
    _package("verl", "verl-project+verl", "verl")
    _package("verl.utils", "verl-project+verl", "verl/utils")
    _package("verl.utils.reward_score", "verl-project+verl", "verl/utils/reward_score")
    reward = importlib.import_module("verl.utils.reward_score.prime_code")
    return float(_quietly(reward.compute_score, solution_str, ground_truth, continuous=True)[0])


def verl_sandbox_fusion(solution_str: str, ground_truth: str) -> float:
    """``sandbox_fusion``, with `_run_code` in the place of the service."""
    _package("verl", "verl-project+verl", "verl")
    _package("verl.utils", "verl-project+verl", "verl/utils")
    _package("verl.utils.reward_score", "verl-project+verl", "verl/utils/reward_score")
    reward = importlib.import_module("verl.utils.reward_score.sandbox_fusion")
    reward_utils = importlib.import_module("verl.utils.reward_score.sandbox_fusion.utils")
    reward_utils.requests = types.SimpleNamespace(post=_run_code, exceptions=reward_utils.requests.exceptions)
    tests = json.loads(ground_truth)
    if isinstance(tests, list):
        tests = {"assert_case": tests}
    return float(
        reward.compute_score("http://service/run_code", None, 1024, solution_str, tests, continuous=True)[0]
    )


def _run_code(url: str, headers: Any = None, data: Any = None, timeout: float = 30) -> Any:
    """What bytedance/SandboxFusion answers to ``/run_code``: an interpreter and a folder for each request."""
    asked = json.loads(data)
    folder = Path(tempfile.mkdtemp(dir="."))
    (folder / "main.py").write_text(asked["code"])
    try:
        done = subprocess.run(
            ["python3", "main.py"], cwd=folder, input=(asked["stdin"] or "").encode(), capture_output=True,
            timeout=asked["run_timeout"], check=False,
        )  # fmt: skip
        result = {
            "status": "Finished",
            "return_code": done.returncode,
            "stdout": done.stdout.decode(errors="replace"),
            "stderr": done.stderr.decode(errors="replace"),
        }
    except subprocess.TimeoutExpired:
        result = {"status": "TimeLimitExceeded", "return_code": None, "stdout": "", "stderr": ""}
    status = "Success" if result["return_code"] == 0 else "Failed"
    answer = {"status": status, "compile_result": None, "run_result": result}
    return types.SimpleNamespace(status_code=200, json=lambda: answer, raise_for_status=lambda: None)


# -------------------------------------------------------------------------------------------------- rLLM


def _rllm() -> Any:
    _warm()
    for name in ("", "/rewards", "/rewards/code_utils"):
        _package(f"rllm{name}".replace("/", "."), "rllm-org+rllm", f"rllm{name}")
    for name in ("code_tool", "together_tool"):  # a service that is switched off
        _module(f"rllm.tools.code_tools.{name}", CodeTool=None, TogetherCodeTool=None)
    _module("rllm.tools", __path__=[])
    _module("rllm.tools.code_tools", __path__=[])
    _commands()
    return importlib.import_module("rllm.rewards.code_reward")


def rllm_lcb(solution_str: str, ground_truth: str) -> float:
    """``lcb_check_correctness_v2``, which all data sets with inputs and outputs come to."""
    return float(_quietly(_rllm().rllm_reward_fn_code, "livecodebench", solution_str, ground_truth).reward)


def rllm_kodcode(solution_str: str, ground_truth: str) -> float:
    """``kodcode``: a file of pytest."""
    return float(_quietly(_rllm().rllm_reward_fn_code, "kodcode", solution_str, ground_truth).reward)


def rllm_humanevalplus(solution_str: str, ground_truth: str) -> float:
    """``humanevalplus``: tests as HumanEval+ writes them, made of the cases."""
    tests = json.loads(ground_truth)
    inputs = [list(map(json.loads, lines.split("\n"))) for lines in tests["inputs"]]
    source = textwrap.dedent(f"""
        def assertion(out, exp, atol):
            assert out == exp

        def check(candidate):
            inputs = {inputs!r}
            results = {list(map(json.loads, tests["outputs"]))!r}
            for i, (inp, exp) in enumerate(zip(inputs, results)):
                assertion(candidate(*inp), exp, 0)

        check({tests["fn_name"]})
    """)
    return float(_quietly(_rllm().rllm_reward_fn_code, "humanevalplus", solution_str, source).reward)


def rllm_primeintellect(solution_str: str, ground_truth: str) -> float:
    """``primeintellect_check_correctness``, which nothing calls at this commit."""
    reward = _rllm()
    tests = json.loads(ground_truth)
    rows = [
        {"input": given, "output": wanted} for given, wanted in zip(tests["inputs"], tests["outputs"], strict=True)
    ]
    if "fn_name" in tests:
        for row in rows:
            row |= {"input": [*map(json.loads, row["input"].split("\n"))], "output": [json.loads(row["output"])]}
            row["fn_name"] = tests["fn_name"]
    code = reward.extract_code_from_model(solution_str)
    return float(code is not None and _quietly(reward.primeintellect_check_correctness, rows, code)[0])


# ------------------------------------------------------------------------------------------------ others


def skyrl_lcb(solution_str: str, ground_truth: str) -> float:
    """``LCBEnv.step``, in a process that has imported what a trainer's has."""
    _warm()
    return skyrl_lcb_fresh(solution_str, ground_truth)


def skyrl_lcb_fresh(solution_str: str, ground_truth: str) -> float:
    """The same, in a process that has imported nothing else."""
    for name in ("", "/envs", "/envs/lcb"):
        _package(f"skyrl_gym{name}".replace("/", "."), "NovaSky-AI+SkyRL", f"skyrl-gym/skyrl_gym{name}")
    reward = importlib.import_module("skyrl_gym.envs.lcb.livecodebench")
    return float(_quietly(reward.compute_score, solution_str, json.loads(ground_truth))[1])


def gym_code_gen(solution_str: str, ground_truth: str) -> float:
    """``verify`` of ``code_gen``, its parts one after another; Ray's ``remote`` is the identity."""
    _module("ray", remote=lambda **given: lambda call: call)
    _module("tqdm", tqdm=iter)
    sys.path[:0] = [str(PEERS / "NVIDIA-NeMo+Gym" / "resources_servers" / "code_gen")]
    metrics = importlib.import_module("lcb_integration.compute_code_generation_metrics")
    extraction = importlib.import_module("lcb_integration.extraction_utils")
    code = extraction.extract_code(solution_str, extraction.LMStyle.OpenAIChat)
    if not code:
        return 0.0
    results, _ = _quietly(metrics.check_correctness_remote, {"input_output": ground_truth}, code, 10, False)
    return float(all(one == True for one in results))  # noqa: E712 - as it is there


def open_instruct(solution_str: str, ground_truth: str) -> float:
    """``CodeVerifier`` and the route that it asks: ``/test_program`` for asserts, ``/test_program_stdio`` else."""
    _package("open_instruct", "allenai+open-instruct", "open_instruct")
    _package("open_instruct.code_utils", "allenai+open-instruct", "open_instruct/code_utils")
    reward = importlib.import_module("open_instruct.code_utils.code_utils")
    tests = json.loads(ground_truth)
    program = _method("allenai+open-instruct", "open_instruct/ground_truth_utils.py", "extract_python_code")(
        None, solution_str
    )
    if isinstance(tests, dict):
        tests = [{"input": one, "output": two} for one, two in zip(tests["inputs"], tests["outputs"], strict=True)]
        results, _ = _quietly(reward.get_successful_tests_stdio, program, tests, 6.0)
    else:
        results, _ = _quietly(reward.get_successful_tests_fast, program, tests, 6.0)
    return sum(results) / len(results) if results else 0.0


def open_r1(solution_str: str, ground_truth: str) -> float:
    """``code_reward``, with `_Provider` in the place of E2B."""
    empty = MagicMock()
    for name in ("latex2sympy2_extended", "math_verify"):
        _module(name, NormalizationConfig=empty, LatexExtractionConfig=empty, parse=empty, verify=empty)
    _package("open_r1", "huggingface+open-r1", "src/open_r1")
    _module("open_r1.utils", __path__=[])
    _module("open_r1.utils.code_providers", get_provider=lambda **given: _Provider())
    contests = _module("open_r1.utils.competitive_programming")
    for name in ("SubtaskResult", "add_includes", "get_morph_client_from_env", "get_piston_client_from_env",
                 "patch_code", "score_submission", "score_subtask"):  # fmt: skip
        setattr(contests, name, empty)
    reward = importlib.import_module("open_r1.rewards")
    tests = json.loads(ground_truth)
    cases = [{"input": one, "output": two} for one, two in zip(tests["inputs"], tests["outputs"], strict=True)]
    info = [{"language": "python", "test_cases": cases}]
    return float(reward.code_reward([[{"content": solution_str}]], verification_info=info)[0])


class _Provider:
    """Runs a script as a notebook's cell: its reward is the value of the last expression."""

    def execute_scripts(self, scripts: list[str], languages: list[str]) -> list[float]:
        return [self._run(textwrap.dedent(script)) for script in scripts]

    def _run(self, script: str) -> float:
        *body, last = script.strip().split("\n")
        try:
            names: dict[str, Any] = {}
            exec("\n".join(body), names)
            return float(eval(last, names))
        except Exception:
            return 0.0


def code_r1(solution_str: str, ground_truth: str) -> float:
    """``coder1``, with the tags that it wants around the reply."""
    return code_r1_tagged(f"<think>\nso\n</think>\n<answer>\n{solution_str.strip()}\n</answer>", ground_truth)


def code_r1_tagged(solution_str: str, ground_truth: str) -> float:
    """``coder1``; what firejail would run apart, runs."""
    _commands()
    _package("verl", "ganler+code-r1", "verl")
    _package("verl.utils", "ganler+code-r1", "verl/utils")
    _package("verl.utils.reward_score", "ganler+code-r1", "verl/utils/reward_score")
    reward = importlib.import_module("verl.utils.reward_score.coder1")
    tests = json.loads(ground_truth)
    truth = json.dumps({"functional": "\n".join(tests)}) if isinstance(tests, list) else ground_truth
    return float(max(0.0, _quietly(reward.compute_score, solution_str, truth, {"prompt": ""}) - 0.1))
