"""Whose programs they are: those of a user of each zygote's own where root may give one, never one for two."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from truegrade.sandbox.bubblewrap import FIRST_UID, HARNESSES, OF_HARNESS, spare_uid
from truegrade.sandbox.levels import detect

CHMOD = """
from hostile_programs import ESCAPES
from truegrade.sandbox import Limits, Sandbox
found = []
with Sandbox(Limits(cpu_s=2), workers=1) as sandbox:
    sandbox.call(ESCAPES["mode for every jail"], "f", [({},)], lambda _, result: found.append(result) or True)
print(sandbox.level > 1, found[0].value)
"""
SPARE = "from truegrade.sandbox.bubblewrap import spare_uid; print(spare_uid([]), spare_uid([]))"


def said(program, *apart):
    done = subprocess.run(
        [*apart, sys.executable, "-c", program], capture_output=True, text=True, cwd=Path(__file__).parent
    )
    if apart and done.stderr.startswith("unshare:"):
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="for an ordinary user")
def test_an_ordinary_user_gives_no_number_away():
    assert spare_uid([]) is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
class TestRoot:
    def test_no_two_zygotes_are_the_same_user(self):
        numbers = {spare_uid([]) for _ in range(OF_HARNESS)}
        if numbers == {None}:
            pytest.skip("this root may not give numbers away")
        assert len(numbers) == OF_HARNESS
        assert min(numbers) >= FIRST_UID
        assert max(numbers) < FIRST_UID + HARNESSES * OF_HARNESS < 1 << 31

    def test_a_number_that_could_not_reach_its_files_is_not_given(self, tmp_path):
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o700)
        assert spare_uid([str(closed)]) is None

    def test_the_first_processes_of_two_containers_give_different_numbers(self):
        first, second = (
            subprocess.Popen(
                ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", f"{SPARE}; input()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        )
        lines = [one.stdout.readline() for one in (first, second)]  # both are there at the same time
        complaints = [one.communicate("\n")[1] for one in (first, second)]
        if any(text.startswith("unshare:") for text in complaints):
            pytest.skip(complaints[0])
        numbers = {int(number) for line in lines for number in line.split()}
        assert len(numbers) == 4, (lines, complaints)

    def test_root_of_a_user_namespace_gives_no_number_that_is_not_there(self):
        assert said(SPARE, "unshare", "--user", "--map-root-user") == "None None"

    def test_root_of_a_user_namespace_has_the_level_of_an_ordinary_user(self):
        found = said(
            "from truegrade.sandbox.levels import detect; print(detect().level)",
            "unshare",
            "--user",
            "--map-root-user",
        )
        assert int(found) == detect().level

    def test_root_without_capabilities_gives_none_away(self):
        assert said(SPARE, "setpriv", "--bounding-set", "-all", "--inh-caps", "-all") == "None None"

    @pytest.mark.parametrize("without", ["-kill", "-all"])
    def test_root_that_gives_none_away_runs_programs_that_change_no_file_of_proc(self, without):
        if detect().level < 2:
            pytest.skip(detect().why)
        assert said(CHMOD, "setpriv", "--bounding-set", without, "--inh-caps", "-all") in {
            "True None",
            "True False",
        }
