"""Our benchmarks and verdicts inside other harnesses: the only modules that import those packages."""

from truegrade.app import App

APP = App(
    name="integrations",
    summary="tasks for Inspect AI, lm-evaluation-harness and EvalScope",
    commands={"lm-eval-tasks": "truegrade.apps.integrations.commands:lm_eval_tasks"},
)
