"""Packages that the service offers to every program, whichever way it comes."""

import subprocess
import sys

USES = "import click\ndef double(x):\n    return 2 * x if click.echo else 0"


def test_a_package_is_offered_to_executed_and_graded_programs(serve, service, doubling):
    graded = {"problem": doubling, "completions": [{"text": f"```python\n{USES}\n```"}]}
    tested = {"program": USES, "tests": ["assert double(2) == 4"]}
    run = {"code": f"{USES}\nprint(double(1))", "language": "python"}

    def offered(running):
        with running.http() as http:
            return (
                http.post("/v1/reward", json=graded).json()["rewards"],
                http.post("/test_program", json=tested).json()["results"],
                http.post("/run_code", json=run).json()["run_result"]["stdout"],
            )

    with serve("--packages", "numpy,click") as offering:
        assert offered(offering) == ([1.0], [1], "2\n")
    assert offered(service) == ([0.0], [0], "")


def test_a_package_that_is_not_installed_is_refused_at_the_start():
    command = [
        sys.executable,
        "-m",
        "truegrade",
        "serve",
        "--no-token",
        "--port",
        "0",
        "--packages",
        "no-such-one",
    ]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert (refused.returncode, refused.stdout) == (2, "")
    (sentence,) = refused.stderr.splitlines()
    assert "--packages no-such-one: not installed" in sentence
