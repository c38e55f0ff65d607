"""Clusters of two local nodes, and a look at the processes that stand on them."""

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from truegrade.sandbox.worker import descendants

NODE = {"num_cpus": 1, "object_store_memory": 100 * 2**20, "include_dashboard": False}


@pytest.fixture
def start_cluster(monkeypatch):
    """Start a cluster: a node for each of the sets of environment variables."""
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    started = []

    def start(*nodes):
        started.append(Cluster())
        for variables in nodes:
            add_node(started[-1], variables)
        return started[-1]

    try:
        yield start
    finally:
        ray.shutdown()
        for each in started:
            each.shutdown()


@pytest.fixture
def cluster(start_cluster):
    """Two nodes of one core."""
    return start_cluster({}, {})


def add_node(cluster, variables):
    """Ray gives a node 30 s to start, whatever the machine is busy with: try again before it is believed."""
    for _ in range(2):
        with suppress(Exception):
            return cluster.add_node(**NODE, env_vars=variables)
    return cluster.add_node(**NODE, env_vars=variables)


@pytest.fixture(scope="session")
def processes():
    """See `Processes`."""
    return Processes


class Processes:
    """What runs."""

    @staticmethod
    def actors():
        """Those of this process' clusters in which an actor of ours lives."""
        return [pid for pid in descendants(os.getpid()) if is_actor(pid)]

    @staticmethod
    def started_by(pid):
        """Actors, and other processes of ours, below a process."""
        return [each for each in descendants(pid) if "truegrade" in command_line(each) or is_actor(each)]

    @staticmethod
    def all_gone(pids):
        return not any(alive(pid) for pid in pids)

    @staticmethod
    def wait_for(true, seconds):
        deadline = time.monotonic() + seconds
        while not true():
            assert time.monotonic() < deadline
            time.sleep(0.05)


def is_actor(pid):
    line = command_line(pid)
    return "ray::GradingActor" in line


def command_line(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
