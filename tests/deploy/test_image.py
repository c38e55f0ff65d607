"""The image of ``deploy/Dockerfile`` serves as a user without rights, at the level that its container allows.

`python -m tools.image service` makes it without Docker; runc starts it as Docker and Kubernetes would.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path

import pytest

from support.image_container import IMAGE, container
from truegrade.sandbox.levels import detect

TOKEN = "a-token-of-the-tests"
ASKED = """
import json, sys
from http.client import HTTPConnection

def ask(method, path, body=None):
    connection = HTTPConnection("127.0.0.1", 8080, timeout=60)
    headers = {"Authorization": f"Bearer {sys.argv[1]}", "Content-Type": "application/json"}
    connection.request(method, path, body and json.dumps(body), headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    return answer.status, json.loads(text) if path != "/metrics" else text

task = {"type": "function", "entry_point": "double", "prompt": "", "reference": ""}
task["tests"] = "assert double(2) == 4"
bodies = ["return 2 * x", "return x", "import os; os._exit(0)", "open('/etc/passwd').read()"]
replies = [{"text": f"```python\\ndef double(x):\\n    {body}\\n```"} for body in bodies]
ready = ask("GET", "/readyz")
reward = ask("POST", "/v1/reward", {"problem": {"task": task, "id": "doubling"}, "completions": replies})
seen = ask("POST", "/v1/execute", {"program": "import os; print(os.environ.get('TRUEGRADE_SERVE_TOKEN'))"})
workers = [line for line in ask("GET", "/metrics")[1].splitlines() if line.startswith("truegrade_workers ")]
print(json.dumps([ready, reward, seen, workers]))
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (IMAGE / "image.json").exists(), reason="the image is not built: make image"),
    pytest.mark.skipif(shutil.which("runc") is None, reason="runc is not installed"),
    pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="containers are started by root"),
]


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="image-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


def announced(inside):
    """The first line of the service."""
    line = inside.process.stdout.readline()
    if not line:
        pytest.skip(f"runc starts no such container here: {inside.process.communicate()[1].strip()[-300:]}")
    return line


@pytest.mark.parametrize("level", [2, 3])
def test_the_service_starts_says_its_level_and_pays_right_programs_alone(folder, level):
    if detect().level < level:
        pytest.skip(f"this machine has no level {level}: {detect().why}")
    with container(folder, level=level, env={"TRUEGRADE_SERVE_TOKEN": TOKEN}, cpus=1) as inside:
        line = announced(inside)
        assert f"1 workers; protection level {level}: " in line
        assert level == 3 or line.rstrip().endswith("such as a container's, forbids namespaces")
        healthy = inside.run(*json.loads((IMAGE / "image.json").read_text())["healthcheck"])
        assert healthy.returncode == 0, healthy.stderr
        asked = inside.run("python", "-c", ASKED, TOKEN)
        assert asked.returncode == 0, asked.stderr
        (ready_status, ready), (_, reward), (_, executed), workers = json.loads(asked.stdout)
        assert (ready_status, ready["status"], ready["level"]) == (200, "ok", level)
        assert reward["rewards"] == [1.0, 0.0, 0.0, 0.0]
        assert executed["stdout"] == "None\n", "a program sees no token"
        assert workers == ["truegrade_workers 1.0"], "as many as the container has cores"
        said = json.loads(inside.run("truegrade", "doctor", "--json").stdout)
        (sandbox,) = (each["detail"] for each in said if each["name"] == "sandbox")
        assert sandbox.startswith(f"level {level}, self-test passed")
        inside.signal("TERM")
        assert inside.process.wait(30) == 0


def test_the_service_without_a_token_prints_one_and_with_none_refuses(folder):
    with container(folder) as inside:
        announced(inside)
        assert inside.process.stdout.readline().startswith("token: ")
    with container(folder, arguments=["serve", "--host", "0.0.0.0", "--no-token"]) as inside:
        error = inside.process.communicate(timeout=60)[1]
        assert inside.process.returncode == 2 and "everybody who reaches 0.0.0.0 can run programs" in error
