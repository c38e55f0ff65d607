"""Our benchmarks and verdicts inside other harnesses: the only modules that import those packages."""

from truegrade.app import App

APP = App(
    name="integrations",
    summary="tasks for Inspect AI, lm-evaluation-harness and EvalScope",
    things={"exporter": {"lm-eval": "truegrade.apps.integrations.lm_eval:EXPORTER"}},
)
