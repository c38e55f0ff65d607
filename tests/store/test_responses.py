"""The response cache on disk: several processes, kills, damage."""

import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from truegrade.cli.diagnosis import _responses
from truegrade.store.responses import ResponseCache, cache_state, responses_path

WRITER = """
import sys
from pathlib import Path
from truegrade.store.responses import ResponseCache
path, name, total = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
cache = ResponseCache(path, notice=sys.exit)
print("ready", flush=True)
sys.stdin.readline()
for i in range(total):
    cache.put(f"{name}-{i}", (f"{name}-{i} " * 40).encode(), model=name, asked="2026-01-01")
    if i % 50 == 0:
        print(i, flush=True)
"""


def start_writer(path, name, total):
    command = [sys.executable, "-c", WRITER, str(path), name, str(total)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def test_the_first_entry_stays(tmp_path):
    cache = ResponseCache(tmp_path / "new" / "r.sqlite", notice=pytest.fail)
    assert cache.get("k") is None
    cache.put("k", b"one", model="m", asked="t")
    cache.put("k", b"two", model="m", asked="t")
    assert cache.get("k") == b"one"
    cache.close()
    cache.close()
    assert (cache.get("k"), cache.usable) == (None, False)


@pytest.mark.slow
def test_processes_write_at_once(tmp_path):
    path = tmp_path / "r.sqlite"
    writers = [start_writer(path, name, 200) for name in "abc"]
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=180)
        assert writer.returncode == 0
    cache = ResponseCache(path, notice=pytest.fail)
    assert all(cache.get(f"{name}-{i}") == (f"{name}-{i} " * 40).encode() for name in "abc" for i in range(200))
    cache.close()
    assert cache_state(path).replies == 600


@pytest.mark.slow
def test_a_kill_leaves_whole_entries_and_a_usable_file(tmp_path):
    path = tmp_path / "r.sqlite"
    for round_ in range(3):
        writer = start_writer(path, f"w{round_}", 100_000)
        writer.stdin.write("go\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == "0\n"
        told = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        writer.communicate(timeout=180)
        cache = ResponseCache(path, notice=pytest.fail)
        stored = [cache.get(f"w{round_}-{i}") for i in range(told + 1)]
        assert stored == [(f"w{round_}-{i} " * 40).encode() for i in range(told + 1)]
        cache.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert all(entry == f"{key} ".encode() * 40 for key, entry in
                   connection.execute("SELECT key, entry FROM responses"))  # fmt: skip
    connection.close()


@settings(derandomize=True, deadline=None, max_examples=20)
@given(st.binary(min_size=1, max_size=300))
def test_any_other_file_is_told_once_and_left_alone(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("damaged") / "r.sqlite"
    path.write_bytes(b"!" + content * 50)
    told = []
    cache = ResponseCache(path, notice=told.append)
    cache.put("k", b"x", model="m", asked="t")
    assert cache.get("k") is None
    assert len(told) == 1
    assert "cannot be used" in told[0] and str(path) in told[0] and "delete it" in told[0]
    assert path.read_bytes() == b"!" + content * 50
    cache.close()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    told = []
    cache = ResponseCache(tmp_path / "file" / "r.sqlite", notice=told.append)
    assert (cache.get("k"), len(told)) == (None, 1)


def test_asked_in_another_thread(tmp_path):
    cache = ResponseCache(tmp_path / "r.sqlite", notice=pytest.fail)
    thread = threading.Thread(target=lambda: cache.put("k", b"x", model="m", asked="t"))
    thread.start()
    thread.join()
    assert cache.get("k") == b"x"
    cache.close()


def test_the_doctor_tells_place_and_size(tmp_path, monkeypatch):
    monkeypatch.delenv("TRUEGRADE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = responses_path()
    assert path == tmp_path / "truegrade" / "responses.sqlite"
    assert (_responses().state, _responses().detail) == ("ok", f"empty; it will be {path}")
    cache = ResponseCache(path, notice=pytest.fail)
    cache.put("k", b"x" * 200_000, model="m", asked="t")
    assert _responses().detail.startswith("1 replies, 0.")
    cache.close()
    path.write_bytes(b"no database" * 100)
    assert _responses().state == "warning"
    monkeypatch.setenv("TRUEGRADE_CACHE", str(tmp_path / "elsewhere"))
    assert responses_path() == Path(tmp_path / "elsewhere" / "responses.sqlite")
