"""QuixBugs as problems, graded by the function tests that every profile has."""

import json
import re

import pytest

from truegrade.records import FunctionTask, Problem


def _tests(row):
    """Assertions for plain tests; for the graph programs, the upstream module without its imports."""
    name = row["name"]
    if row["test_kind"] == "json":
        call = f"list({name}(*{{}}))" if row["compare"] == "list" else f"{name}(*{{}})"
        cases = [case for place, case in enumerate(row["tests"]) if place not in row["slow_tests"]]
        return "\n".join(f"assert {call.format(repr(arguments))} == {expected!r}" for arguments, expected in cases)
    module = re.sub(r"(?s)^.*?import \w+\n\n\n?(?=\w)", "", row["pytest_source"].partition("else:")[2], count=1)
    calls = re.findall(r"^def (test\w*)\(", module, re.MULTILINE)
    return "\n".join([module.partition("\ndef main")[0], *(f"{c}()" for c in calls)])


@pytest.fixture(scope="session")
def quixbugs(data_dir):
    """All 40 programs by name."""
    with (data_dir / "quixbugs.jsonl").open() as file:
        rows = [json.loads(line) for line in file]
    return {
        row["name"]: Problem(
            id=f"quixbugs/{row['name']}",
            benchmark="quixbugs",
            dataset_sha256="0" * 64,
            cluster=row["name"],
            task=FunctionTask(
                prompt="",
                entry_point=row["name"],
                tests=_tests(row),
                setup=row.get("node_source") or "",
                reference=row["correct"],
                buggy=row["buggy"],
                plain_arguments=row["test_kind"] == "json",
            ),
        )
        for row in rows
    }


@pytest.fixture
def repair():
    """Make a repair problem."""

    def make(name, reference, buggy=None):
        task = FunctionTask(
            prompt="",
            entry_point=name,
            tests="",
            reference=reference,
            buggy=reference.replace("+", "-") if buggy is None else buggy,
        )
        return Problem(id=f"made/{name}", benchmark="made", dataset_sha256="0", cluster=name, task=task)

    return make
