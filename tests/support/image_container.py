"""The image of ``deploy/Dockerfile``, started by runc with what Docker or Kubernetes would start it with."""

import contextlib
import json
import os
import subprocess
import time
from pathlib import Path

from support.docker_defaults import configuration

ROOT = Path(__file__).parents[2]
IMAGE = ROOT / "build" / "image" / "service"
SECCOMP_LEVEL_3 = ROOT / "deploy" / "seccomp-level3.json"


class Container:
    """A container that runs.

    Args:
        runc: the words of every call of runc.
        name: of the container.
        process: what it was started by.
        env: variables inside.
    """

    def __init__(self, runc, name, process, env):
        self._runc, self.name, self.process, self._env = runc, name, process, env

    def run(self, *command, env=None):
        """A command beside the service: what `subprocess.run` gives."""
        given = [f"--env={name}={value}" for name, value in {**self._env, **(env or {})}.items()]
        asked = [*self._runc, "exec", *given, self.name, *command]
        return subprocess.run(asked, capture_output=True, text=True, timeout=120)

    def signal(self, name):
        subprocess.run([*self._runc, "kill", self.name, name], check=True)


@contextlib.contextmanager
def container(folder, *, level=2, arguments=None, env=None, cpus=None):
    """The service, or ``arguments`` of the command, as user 1000 without capabilities on a read-only root.

    Args:
        folder: for the bundle.
        level: with 3, the profile of ``deploy`` that allows namespaces, and nothing of /proc hidden.
        arguments: in place of the image's own.
        env: more variables.
        cpus: as of ``docker run --cpus``.
    """
    image = json.loads((IMAGE / "image.json").read_text())
    uid, gid = map(int, image["user"].split(":"))
    environment = {**image["env"], "HOME": "/home/truegrade", **(env or {})}
    command = [*image["entrypoint"], *(image["cmd"] if arguments is None else arguments)]
    config = configuration(IMAGE / "rootfs", command, environment=environment, uid=uid, capabilities=[])
    config["root"]["readonly"] = True
    config["process"] |= {"cwd": image["cwd"], "noNewPrivileges": True}
    config["process"]["user"] = {"uid": uid, "gid": gid}
    config["mounts"].append(
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777", "size=1g", "nosuid"]}
    )
    if level == 3:
        config["linux"]["seccomp"] = json.loads(SECCOMP_LEVEL_3.read_text())
        config["linux"]["maskedPaths"], config["linux"]["readonlyPaths"] = [], []
    if cpus is not None:
        config["linux"]["resources"] = {"cpu": {"quota": int(cpus * 100_000), "period": 100_000}}
    (folder / "config.json").write_text(json.dumps(config))
    runc, name = ["runc", "--root", str(folder / "state")], f"truegrade-image-{os.getpid()}-{time.monotonic_ns()}"
    process = subprocess.Popen(
        [*runc, "run", "--bundle", str(folder), name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield Container(runc, name, process, environment)
    finally:
        subprocess.run([*runc, "delete", "--force", name], capture_output=True)
        process.communicate(timeout=30)
