"""A disk that is full, or may not be written to: one line, exit code 2, nothing lost, the same command goes on."""

import errno
import importlib.resources
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from support.thorough import one_in
from truegrade.errors import UserError
from truegrade.store import Journal, read_journal
from truegrade.store.manifest import write_atomically

RUN = ("run", "humaneval", "-m", "baseline/reference", "--limit", "12", "-n", "2")


@pytest.fixture
def disk(tmp_path):
    """A small disk of its own; call it with a size or an option to mount it anew."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(option, *more):
        command = ["mount", "-t", "tmpfs", "-o", option, *more, "tmpfs", str(folder)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("mounting a disk needs rights that this user lacks")
        return folder

    yield mount
    subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=False)


def one_line(code, out, err, *words):
    assert code == 2
    assert err.count("\n") == 1, err
    assert all(word in err for word in words), err
    assert "Traceback" not in err
    assert out == ""


def keys(path):
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    return sorted((row["problem_id"], row["sample"]) for row in rows)


@pytest.mark.parametrize("size", one_in(2, ["4k", "16k", "36k", "56k", "76k", "120k"]))
def test_a_full_disk_keeps_what_is_stored_and_the_same_command_goes_on(cli, disk, size):
    folder = disk(f"size={size}")
    command = (*RUN, "--out", str(folder / "r"), "--json")
    one_line(*cli(*command), str(folder), "No space left on device", "make room", "the same command goes on")
    before = {path.name: path.read_bytes() for path in folder.glob("r/*.jsonl")}
    assert all(content.endswith(b"\n") or not content for content in before.values())
    assert not list(folder.glob("r/*.partial"))
    disk("remount,size=8m")
    code, out, err = cli(*command)
    assert (code, err) == (0, "")
    assert json.loads(out)["profiles"][0]["estimates"][0]["value"] == 1.0
    for name, content in before.items():
        assert (folder / "r" / name).read_bytes().startswith(content)
    for path in folder.glob("r/*s*.jsonl"):
        if not path.name.startswith("prompts"):
            assert keys(path) == sorted((f"HumanEval/{n}", sample) for n in range(12) for sample in range(2))


def test_a_disk_that_may_only_be_read_is_named_by_every_command(cli, disk):
    folder = disk("size=8m")
    short = (*RUN[:-2], "--limit", "1")
    assert cli(*short, "--out", str(folder / "r"))[0] == 0
    run = str(folder / "r")
    disk("remount,ro")
    for command in (
        (*short, "--out", run),
        (*short, "--out", str(folder / "new")),
        ("grade", run, "--as", "human-eval"),
        ("report", run),
        ("report", run, "--format", "csv"),
        ("export", run, "--format", "inspect"),
        ("export", run, "--format", "human-eval"),
        ("compare", run, run, "--format", "html", "--out", str(folder / "c.html")),
        ("evolve", "--init", str(folder / "e.toml")),
    ):
        one_line(*cli(*command), str(folder), "Read-only file system")
    settings = importlib.resources.files("truegrade.apps.evolve").joinpath("configs/micro-quick.toml").read_text()
    few, number = re.subn(r"(?<=\n)(train|pool|replay|selection|final|forgetting) = \d+", r"\1 = 4", settings)
    assert number == 6
    Path("few.toml").write_text(few)
    code, out, err = cli("evolve", "few.toml", "--out", str(folder / "e"))
    one_line(code, out, err.removeprefix("evolve: draw the problems\n"), str(folder), "Read-only file system")


@pytest.mark.parametrize("buffered", [False, True])
def test_standard_output_may_be_full_too(buffered):
    environment = {**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"}
    for arguments in (["list", "profiles", "strict"], ["list", "benchmarks", "--json"]):
        with open("/dev/full", "w") as full:
            command = [sys.executable, "-m", "truegrade", *arguments]
            done = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment
            )
        one_line(done.returncode, "", done.stderr, "standard output", "No space left on device")


class Line(msgspec.Struct):
    a: int
    b: str = "x" * 1000


@pytest.fixture
def small_files():
    """No file of this process grows beyond 10,500 bytes meanwhile."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_500, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_journal_that_can_grow_no_more_keeps_whole_lines(tmp_path, small_files):
    path = tmp_path / "j.jsonl"
    with Journal(path) as journal:
        for number in range(10):
            journal.append(Line(number))
        for _ in range(3):
            with pytest.raises(UserError, match=f"{path}: cannot be written \\({os.strerror(errno.EFBIG)}\\)"):
                journal.append(Line(10))
        journal.append(Line(11, ""))
    assert [line.a for line in read_journal(path, Line)] == [*range(10), 11]


def test_a_file_that_cannot_be_replaced_stays_as_it_was(tmp_path, small_files):
    path = tmp_path / "summary.json"
    write_atomically(path, b"{}")
    with pytest.raises(UserError, match="cannot be written"):
        write_atomically(path, b"x" * 20_000)
    assert path.read_bytes() == b"{}"
    assert list(tmp_path.iterdir()) == [path]
