"""A real service in a process of its own, asked over real HTTP."""

import pytest

from support.grading_service import served

pytest.importorskip("prometheus_client", reason="the extra [serve] is not installed")


@pytest.fixture(scope="session")
def serve():
    """Start a service with these options."""
    return served


@pytest.fixture(scope="session")
def service(humaneval_file):
    """A service that knows HumanEval."""
    with served("--benchmark", f"humaneval={humaneval_file}", "--max-cpu", "5", "--max-body", "1") as running:
        yield running


@pytest.fixture
def http(service):
    with service.http() as client:
        yield client


@pytest.fixture
def doubling():
    """An inline problem."""
    task = {
        "type": "function",
        "prompt": "",
        "entry_point": "double",
        "tests": "assert double(2) == 4",
        "reference": "",
    }
    return {"task": task, "id": "doubling"}
