"""What is made once: by one of several threads, by one of several processes, whatever is killed or damaged."""

import hashlib
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from truegrade.files.kept import KeptOnDisk, LastKept

KEY, OTHER = "ab" * 32, "cd" * 32
MAKER = """
import sys, time
from pathlib import Path
from truegrade.files.kept import KeptOnDisk
folder, log, seconds = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
def make():
    with log.open("a") as file:
        file.write("made\\n")
    time.sleep(seconds)
    return b"content" * 1000
assert KeptOnDisk(folder, 1 << 20).of("ab" * 32, make) == b"content" * 1000
"""


def maker(folder, log, seconds):
    return subprocess.Popen([sys.executable, "-c", MAKER, str(folder), str(log), str(seconds)])


def never():
    raise AssertionError("it is kept")


def test_of_several_threads_one_makes_it():
    kept, made, together = LastKept(4), [], threading.Barrier(8)

    def make():
        made.append(1)
        return len(made)

    def ask():
        together.wait()
        return kept.of("k", make)

    with ThreadPoolExecutor(8) as threads:
        assert {future.result() for future in [threads.submit(ask) for _ in range(8)]} == {1}


def test_threads_that_wait_make_it_themselves_where_the_first_failed():
    kept, begun, tried = LastKept(4), threading.Event(), []

    def fail():
        begun.set()
        tried.append(1)
        while not kept._making["k"]._cond._waiters:  # until the other thread waits for this one
            pass
        raise ValueError

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(kept.of, "k", fail)
        begun.wait()
        second = threads.submit(kept.of, "k", lambda: "made")
        with pytest.raises(ValueError):
            first.result()
        assert second.result() == "made"
    assert kept.of("k", lambda: "anew") in ("made", "anew") and tried == [1]


def test_of_several_processes_one_makes_it(tmp_path):
    log = tmp_path / "log"
    processes = [maker(tmp_path / "kept", log, 0.5) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert log.read_text() == "made\n"


def test_a_killed_process_is_waited_for_no_longer(tmp_path):
    log = tmp_path / "log"
    first = maker(tmp_path / "kept", log, 600)
    while not log.exists():
        assert first.poll() is None
    second = maker(tmp_path / "kept", log, 0)
    first.kill()
    first.wait()
    assert second.wait() == 0
    assert log.read_text() == "made\nmade\n"


def test_a_damaged_entry_is_made_anew(tmp_path):
    kept = KeptOnDisk(tmp_path, 1 << 20)
    assert kept.of(KEY, lambda: b"right") == b"right"
    whole = (tmp_path / KEY).read_bytes()
    damaged = [b"", whole[:-1], whole + b"x", bytes([whole[0] ^ 1]) + whole[1:], whole[:-1] + b"x", whole[:34]]
    damaged.append(hashlib.sha256(b"forged").digest() + b"forged")
    for data in damaged:
        (tmp_path / KEY).write_bytes(data)
        assert kept.read(KEY) is None
        assert kept.of(KEY, lambda: b"right") == b"right" and kept.of(KEY, never) == b"right"
    (tmp_path / OTHER).write_bytes(whole)  # a whole entry under the name of another
    assert kept.read(OTHER) is None
    (tmp_path / f"{OTHER}.part").write_bytes(whole)  # what a kill leaves
    assert kept.of(OTHER, lambda: b"other") == b"other" and kept.of(OTHER, never) == b"other"


def test_the_bound_is_kept_and_what_was_used_last_stays(tmp_path):
    kept = KeptOnDisk(tmp_path, 3500)
    keys = [f"{number:064x}" for number in range(4)]
    for number, key in enumerate(keys[:3]):
        kept.of(key, lambda: bytes(1000))
        os.utime(tmp_path / key, (number, number))
    kept.read(keys[0])
    kept.of(keys[3], lambda: bytes(1000))
    assert [kept.read(key) is not None for key in keys] == [True, False, True, True]
    assert kept.state().entries == 3 and kept.state().bytes <= 3500
    kept.of(OTHER, lambda: bytes(4000))  # larger than all may be
    assert kept.read(OTHER) is None and kept.state().entries == 3
    assert KeptOnDisk(tmp_path / "none", 0).of(KEY, lambda: b"made") == b"made"
    assert not (tmp_path / "none").exists()


def test_a_folder_that_cannot_be_used_costs_nothing_but_time(tmp_path):
    (tmp_path / "file").write_text("")
    kept = KeptOnDisk(tmp_path / "file" / "kept", 1 << 20)
    assert kept.of(KEY, lambda: b"made") == b"made" and kept.state().entries == 0
    with pytest.raises(AssertionError):
        KeptOnDisk(tmp_path / "kept", 1 << 20).of(KEY, never)
    assert KeptOnDisk(tmp_path / "kept", 1 << 20).of(KEY, lambda: b"made") == b"made"
    assert (tmp_path / "kept").stat().st_mode & 0o77 == 0


def test_a_kill_at_any_moment_leaves_what_is_right_or_nothing(tmp_path):
    writes = """
import sys
from pathlib import Path
from truegrade.files.kept import KeptOnDisk
kept = KeptOnDisk(Path(sys.argv[1]), 3 << 20)
print("begun", flush=True)
for number in range(10**6):
    kept.of(f"{number:064x}", lambda: f"{number},".encode() * 50_000)
"""
    seen = 0
    for delay in (0.0, 0.05, 0.1, 0.2):
        process = subprocess.Popen([sys.executable, "-c", writes, str(tmp_path)], stdout=subprocess.PIPE)
        process.stdout.readline()
        threading.Event().wait(delay)
        process.kill()
        process.communicate()
        kept = KeptOnDisk(tmp_path, 3 << 20)
        for number in range(2000):
            found = kept.read(f"{number:064x}")
            assert found in (None, f"{number},".encode() * 50_000)
            seen += found is not None
        assert kept.of("00" * 32, lambda: b"0," * 50_000) == b"0," * 50_000
    assert seen
