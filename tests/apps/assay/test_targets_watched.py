"""System calls of a whole assay: no dangerous program reaches a grader that runs outside the jail."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from targets_support import LEAKY

strace = shutil.which("strace")
SENDS = re.compile(r"(?:write|sendto|sendmsg|writev|pwrite64)\((?P<fd>\d+<[^>]*>), ?(?P<said>.*)")


def telling(probes, among):
    """A piece of each program that stands in none of the others of another danger, nor in what strace escapes."""
    pieces = {}
    for probe in probes:
        others = [other["code"] for other in among if other["danger"] != probe["danger"]]
        lines = (line.strip() for line in probe["code"].splitlines())
        plain = [line for line in lines if len(line) > 10 and not set(line) & set("\"'\\")]
        pieces[probe["id"]] = next((line for line in plain if not any(line in other for other in others)), None)
    return {name: piece for name, piece in pieces.items() if piece}


def watched(folder):
    """What processes said to others while the assay ran, journals left out; and the probes."""
    folder.mkdir()
    (folder / "rewards.py").write_text(LEAKY)
    out, log = folder / "out", folder / "log"
    command = [
        *(strace, "-f", "-y", "-s", "200000", "-e", "trace=write,sendto,sendmsg,writev,pwrite64", "-o", str(log)),
        *(sys.executable, "-m", "truegrade", "assay", "micro-repair", "--limit", "1", "--probes", "right,cheats"),
        *(
            "--inputs",
            "5",
            "--grader",
            f"{folder / 'rewards.py'}:reward",
            "--no-jail",
            "--out",
            str(out),
            "--json",
        ),
    ]
    subprocess.run(command, check=True, capture_output=True)
    probes = [json.loads(line) for line in (out / "probes.jsonl").read_text().splitlines()]
    lines = (SENDS.search(line) for line in log.read_text(errors="replace").splitlines())
    said = [found["said"] for found in lines if found and str(out) not in found["fd"]]
    return "\n".join(said), probes


@pytest.mark.slow
@pytest.mark.skipif(strace is None, reason="strace is not installed: apt-get install strace")
@pytest.mark.thorough
def test_no_dangerous_program_leaves_without_the_flag(tmp_path):
    said, probes = watched(tmp_path / "harmless")
    pieces = telling(probes, probes)
    levels = {probe["id"]: probe["danger"] for probe in probes}
    assert sum(levels[name] != "h0" for name in pieces) > 10
    seen = {levels[name] for name, piece in pieces.items() if piece in said}
    assert seen == {"h0"}  # the harmless ones are seen, so the others would be
