"""A tiny evolution of the included model: real training, real replies, real jail."""

import os
import subprocess
import sys

import msgspec
import pytest
from click.testing import CliRunner

from truegrade.apps.evolve.settings import RoleSizes, Search, read_settings
from truegrade.apps.evolve.subject import prepare
from truegrade.cli import main
from truegrade.models.micro import WEIGHTS

CONFIG = """
name = "tiny"
population = 2
generations = 2
seed = 3

[objectives]
names = ["solved", "parameters", "training"]
reference = { solved = -0.1, parameters = -400.0, training = -100.0 }
choose = "solved"

[search]
searcher = "nsga2"

[[baselines]]
searcher = "random"

[space]
kinds = ["lora"]
ranks = [2, 4, 8]
epochs = [1, 1]
max_tokens = [120, 120]

[base_sampling]
max_tokens = 120

[roles]
train = 6
selection = 4
final = 4
forgetting = 2
"""


class Tiny:
    """A configuration file, and the folder and adapters of its evolution."""

    def __init__(self, place, logs_of):
        self._logs_of = logs_of
        place.mkdir(parents=True, exist_ok=True)
        self.config, self.folder, self.adapters = place / "tiny.toml", place / "out", place / "adapters"
        self.config.write_text(CONFIG)

    @property
    def arguments(self):
        return ["evolve", self.config, "--out", self.folder, "--adapters", self.adapters]

    def run(self, *more):
        """In this process."""
        return CliRunner().invoke(main, list(map(str, [*self.arguments, "--workers", 1, *more])))

    def start(self, *more, hash_seed="5"):
        """In another one."""
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": ":".join(filter(None, sys.path))}
        command = [sys.executable, "-m", "truegrade", *map(str, [*self.arguments, *more])]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def logs(self):
        return self._logs_of(self.folder)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory, logs_of):
    """Make a tiny evolution's place."""
    if not (WEIGHTS / "config.json").is_file():
        pytest.skip("no weights are shipped")
    return lambda: Tiny(tmp_path_factory.mktemp("tiny"), logs_of)


@pytest.fixture(scope="session")
def evolved(tiny):
    """A tiny evolution, finished; not to be changed."""
    made = tiny()
    made.result = made.run()
    assert made.result.exit_code == 0, made.result.output
    return made


@pytest.fixture
def make_workplace(llama_folder, tmp_path):
    """Prepare the evolution of a tiny random model, with roles of these sizes."""

    def make(adapters="adapters", **sizes):
        settings = read_settings("micro-quick")
        settings = msgspec.structs.replace(
            settings, model=f"embedded/{llama_folder}", roles=RoleSizes(**sizes), search=Search(searcher="random")
        )
        return prepare(settings, adapters=tmp_path / adapters, allow_unsafe=True)

    return make
