"""Alerts fire when they should, and alerts and dashboard ask for metrics that the service has."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from truegrade.sandbox.modes import CodeCache
from truegrade.web.service.about import Metrics
from truegrade.web.service.workload import Workload

DEPLOY = Path(__file__).parents[2] / "deploy"
ALERTS = yaml.safe_load((DEPLOY / "alerts.yaml").read_text())["groups"]
PANELS = json.loads((DEPLOY / "grafana" / "dashboard.json").read_text())["panels"]

promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")


def rules():
    return [rule for group in ALERTS for rule in group["rules"]]


def asked():
    """Names of metrics, a histogram's without what its series are called by."""
    expressions = [rule["expr"] for rule in rules()]
    expressions += [target["expr"] for panel in PANELS for target in panel["targets"]]
    return {re.sub("_bucket$", "", name) for text in expressions for name in re.findall(r"truegrade_\w+", text)}


def test_alerts_and_dashboard_ask_for_metrics_that_the_service_has():
    pytest.importorskip("prometheus_client", reason="the extra [serve] is not installed")
    workload = Workload(1, 1)
    try:
        text = Metrics(workload, 2, CodeCache()).text().decode()
    finally:
        workload.close()
    shown = set(re.findall(r"^# HELP (\w+) ", text, re.MULTILINE))
    assert asked() <= shown


def test_an_alert_says_what_is_wrong_and_what_to_do():
    for rule in rules():
        assert rule["labels"]["severity"] in {"critical", "warning"}, rule["alert"]
        assert set(rule["annotations"]) == {"summary", "action"}, rule["alert"]


def test_panels_are_on_the_page_once():
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    places = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in PANELS}
    assert len(places) == len(PANELS)


def test_the_autoscaler_watches_a_metric_of_the_service():
    manifests = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    (scaler,) = (each for each in manifests if each["kind"] == "HorizontalPodAutoscaler")
    (metric,) = scaler["spec"]["metrics"]
    assert metric["pods"]["metric"]["name"] == "truegrade_queue_length"
    assert metric["pods"]["metric"]["name"] in asked()


@promtool
@pytest.mark.parametrize(
    "words", [["check", "config", "--syntax-only", "prometheus.yml"], ["check", "rules", "alerts.yaml"]]
)
def test_promtool_takes_the_files(words):
    done = subprocess.run(["promtool", *words], cwd=DEPLOY, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


REWARDS = 'truegrade_rewards_total{profile="strict",outcome="wrong"}'
HACKS = 'truegrade_hack_attempts_total{channel="exit",paid="no"}'
CASES = [
    ("TruegradeHackPaid", {'truegrade_hack_attempts_total{channel="exit",paid="yes"}': "0x20 1x40"}, True),
    ("TruegradeHackPaid", {HACKS: "0+9x60"}, False),
    ("TruegradeHackAttempts", {REWARDS: "0+1000x60", HACKS: "0+25x60"}, True),
    ("TruegradeHackAttempts", {REWARDS: "0+1000x60", HACKS: "0+15x60"}, False),
    ("TruegradeNullRewards", {REWARDS: "0+1000x60", 'truegrade_reward_null_total{cause="c"}': "0+6x60"}, True),
    ("TruegradeNullRewards", {REWARDS: "0+1000x60", 'truegrade_reward_null_total{cause="c"}': "0+4x60"}, False),
    ("TruegradeGradersDisagree", {"truegrade_grader_disagreements_total": "0x20 1x40"}, True),
    ("TruegradeDown", {'up{job="truegrade"}': "1x50 0x10"}, True),
    ("TruegradeDown", {}, True),
    ("TruegradeDown", {'up{job="truegrade"}': "1x60"}, False),
    ("TruegradeLevelTooLow", {"truegrade_jail_level": "1x60"}, True),
    ("TruegradeLevelTooLow", {"truegrade_jail_level": "3x30 2x30"}, True),
    ("TruegradeLevelTooLow", {"truegrade_jail_level": "2x60"}, False),
    ("TruegradeQueue", {"truegrade_queue_length": "60x60", "truegrade_queue_capacity": "100x60"}, True),
    ("TruegradeQueue", {"truegrade_queue_length": "40x60", "truegrade_queue_capacity": "100x60"}, False),
    ("TruegradeWait", {'truegrade_wait_seconds_bucket{route="/run_code",le="10"}': "0+9x60",
                       'truegrade_wait_seconds_bucket{route="/run_code",le="30"}': "0+10x60",
                       'truegrade_wait_seconds_bucket{route="/run_code",le="+Inf"}': "0+10x60"}, True),
    ("TruegradeClientsRefused", {'truegrade_client_status_total{client="verl",status="504"}': "0x50 1x10"}, True),
    ("TruegradeClientsRefused", {'truegrade_client_status_total{client="oi",status="200"}': "0+9x60"}, False),
    ("TruegradeClientsRefused", {'truegrade_client_status_total{client="own",status="429"}': "0+9x60"}, False),
    ("TruegradeGraderErrors", {'truegrade_verdicts_total{reason="passed"}': "0+100x60",
                               'truegrade_verdicts_total{reason="grader_error"}': "0+1x60"}, True),
]  # fmt: skip


@promtool
def test_every_alert_fires_when_it_should_and_not_before(tmp_path):
    """promtool asks for the labels of what fires: how many fire at all is asked of the series ``ALERTS``."""
    assert {alert for alert, _, fires in CASES if fires} == {rule["alert"] for rule in rules()}
    tests = [
        {
            "interval": "1m",
            "input_series": [{"series": name, "values": values} for name, values in series.items()],
            "promql_expr_test": [
                {
                    "expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}}) or vector(0)',
                    "eval_time": "1h",
                    "exp_samples": [{"labels": "{}", "value": int(fires)}],
                }
            ],
        }
        for alert, series, fires in CASES
    ]
    given = {"rule_files": [str(DEPLOY / "alerts.yaml")], "evaluation_interval": "1m", "tests": tests}
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(given))
    done = subprocess.run(
        ["promtool", "test", "rules", "tests.yaml"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
