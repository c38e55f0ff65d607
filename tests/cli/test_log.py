"""`--log-level`, and the log that a command keeps in the folder of a run."""

import json
import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

import truegrade
from support import scripted_server as scripted
from truegrade.apps.evolve.folder import EvolutionFolder
from truegrade.files import run_log
from truegrade.files.run_log import CONSOLE, LogLine, RunLog

KEY = "sk-not-to-be-seen-0123456789"
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (DEBUG|INFO|WARNING|ERROR) truegrade[\w.]*: .+")


@pytest.fixture
def service(monkeypatch):
    """Refuses a parameter, then fails in passing and tells the key, then answers."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    answers = [
        scripted.error(400, "Unsupported parameter: 'seed'", param="seed", code="unsupported_parameter"),
        scripted.error(429, f"slow down, {KEY}", headers={"retry-after-ms": "10"}),
        scripted.Answer(scripted.chat("```python\nprivate_reply = 1\n```")),
    ]
    with scripted.scripted_server(answers) as server:
        yield ("run", "humaneval", "--limit", "1", "-m", "openai/gpt-x", "--base-url", server.url, "--seed", "1",
               "--out", "r")  # fmt: skip


def test_a_run_keeps_its_log_without_keys_and_texts(cli, service):
    code, _, err = cli("--log-level", "debug", *service)
    assert code == 0, err
    log = Path("r/log.txt").read_text()
    assert all(LINE.fullmatch(line) for line in log.splitlines()), log
    for words in (
        f"truegrade {truegrade.__version__}, run",
        "openai/gpt-x, attempt 1: error HTTP 400 in ",
        "openai/gpt-x does not take a parameter as asked: ",
        "openai/gpt-x, attempt 2: error HTTP 429 in ",
        "openai/gpt-x: HTTP 429: slow down, [key]; the next attempt follows in ",
        "openai/gpt-x, attempt 3: ok HTTP 200 in ",
        "graded as strict@",
    ):
        assert words in log
    for text in (KEY, "private_reply", "has_close_elements"):
        assert text not in log and text not in err
    shown = [line for line in err.splitlines() if LINE.fullmatch(line)]
    assert [line for line in log.splitlines() if "truegrade.console" not in line][1:] == shown


@pytest.mark.parametrize("echoed", ["Basic dXNlcjpQQSQkdzByZDEy", "PA$$w0rd12", "QUERYKEY77"])
def test_keys_in_an_address_are_used_and_neither_stored_nor_shown(cli, monkeypatch, echoed):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    keys = ("PA$$w0rd12", "PA%24%24w0rd12", "QUERYKEY77", "dXNlcjpQQSQkdzByZDEy")
    answers = [
        scripted.error(429, f"slow down, {echoed}", headers={"retry-after-ms": "10"}),
        scripted.Answer(scripted.chat("```python\nx = 1\n```")),
    ]
    with scripted.scripted_server(answers) as server:
        address = server.url.replace("http://", "http://user:PA%24%24w0rd12@") + "?key=QUERYKEY77"
        words = ("run", "humaneval", "--limit", "1", "-m", "openai/gpt-x", "--base-url", address, "--out", "r")
        code, out, err = cli("--log-level", "debug", *words)
        assert code == 0, err
        again = cli(*words)
        assert again[0] == 0 and len(server.requests) == 2, "the same command goes on with the same run"
        assert any(
            "dXNlcjpQQSQkdzByZDEy" in str(vars(seen)) or "QUERYKEY77" in str(vars(seen))
            for seen in server.requests
        )
    said = out + err + "".join(again[1:])
    stored = b"".join(path.read_bytes() for path in Path("r").rglob("*") if path.is_file()).decode(
        "utf-8", "replace"
    )
    for key in (KEY, *keys):
        assert key not in said and key not in stored
    manifest = json.loads(Path("r/manifest.json").read_text())
    assert manifest["generation"]["base_url"] == f"{server.url}?key=[key]"
    code, _, err = cli("run", "humaneval", "-m", "openai/gpt-x", "--base-url", "ftp://user:PA$$w0rd12@host")
    assert code == 2 and "PA$$w0rd12" not in err
    code, _, err = cli("run", "humaneval", "-m", "openai/gpt-x", "-M", f"api_key={KEY}")
    assert code == 2 and "api_key_env" in err and KEY not in err


def test_standard_error_shows_warnings_alone_unless_more_is_asked_for(cli, service):
    code, _, err = cli(*service)
    assert code == 0 and not any(LINE.fullmatch(line) for line in err.splitlines())
    log = Path("r/log.txt").read_text()
    assert "the next attempt follows" in log and "DEBUG" not in log


@pytest.mark.parametrize("words", [("--log-level", "info"), ("--log-level=info",)])
def test_the_level_may_stand_behind_the_command(cli, words):
    code, out, err = cli("run", "humaneval", "-m", "baseline/empty", "--limit", "1", *words, "--json")
    assert code == 0 and json.loads(out)["run"]
    assert "INFO truegrade.store.run: graded as" in err
    code, _, err = cli("run", "humaneval", "--log-level", "loud")
    assert code == 2 and "'loud' is not one of 'debug', 'info'" in err and len(err.splitlines()) == 1


def test_notices_and_the_last_sentence_are_logged_and_shown_once(cli, service):
    assert cli(*service)[0] == 0
    code, _, err = cli(*service, "--max-connections", "2", "--packages", "nowhere")
    assert code == 2 and err.count("nowhere: not installed") == 1
    assert "nowhere" not in Path("r/log.txt").read_text()  # nothing was begun: there is no folder that it is about
    with scripted.scripted_server([scripted.Answer(scripted.chat("x")), scripted.error(401, "bad key")]) as server:
        words = ("-m", "openai-compatible/y", "--base-url", server.url, "--out", "s", "--max-connections", "1")
        code, _, err = cli("run", "humaneval", *words, "--limit", "2")
    assert code == 2 and err.count("HTTP 401: bad key; set") == 1
    assert "ERROR truegrade.console: openai-compatible at " in Path("s/log.txt").read_text()


def test_every_pair_has_its_own_log(cli):
    code, _, err = cli("run", "humaneval", "-m", "baseline/empty", "-m", "baseline/reference", "--limit", "1")
    assert code == 0, err
    for log in (path.read_text() for path in Path("runs").glob("*/log.txt")):
        assert log.count("graded as") == 1 and f"{truegrade.__version__}, run" in log.splitlines()[0]
    assert len(list(Path("runs").glob("*/log.txt"))) == 2


def test_python_writes_no_file_and_logs_as_the_program_has_it(tmp_path, monkeypatch, humaneval_file, caplog):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUEGRADE_DATA", str(humaneval_file.parent))
    with caplog.at_level(logging.INFO, "truegrade"):
        run = truegrade.run("humaneval", model="baseline/empty", limit=1)
    assert not (run.path / "log.txt").exists()
    assert any("graded as" in record.getMessage() for record in caplog.records)


def record(message):
    return logging.LogRecord(CONSOLE.name, logging.INFO, "", 0, message, None, None)


def test_what_is_said_before_a_run_is_open_waits_for_it(tmp_path):
    log = RunLog("a command")
    log.emit(record("early"))
    log.begin(tmp_path)
    log.emit(record("two\nlines"))
    log.end()
    log.emit(record("for the next"))
    log.close()
    lines = (tmp_path / "log.txt").read_text().splitlines()
    assert [line.rpartition(": ")[2] for line in lines] == ["a command", "early", "two", "    lines"]


def test_a_folder_that_cannot_be_written_to_does_not_stop_the_run(tmp_path):
    (tmp_path / "log.txt").mkdir()
    log = RunLog("a command")
    log.begin(tmp_path)
    log.emit(record("lost"))
    log.close()


def test_an_evolution_keeps_its_log_in_its_folder(tmp_path):
    log = RunLog("a command")
    run_log.ROOT.addHandler(log)
    try:
        with EvolutionFolder(tmp_path / "evolution").locked():
            log.emit(record("trained"))
    finally:
        run_log.ROOT.removeHandler(log)
        log.close()
    assert "trained" in (tmp_path / "evolution" / "log.txt").read_text()


def test_secrets_of_the_environment_are_blotted_out(monkeypatch):
    monkeypatch.setenv("MY_SERVICE_TOKEN", "a-long-secret")
    monkeypatch.setenv("SHORT_KEY", "run")
    assert LogLine().format(record("sent a-long-secret in a run")).endswith("sent [key] in a run")


def test_no_command_leaves_handlers_behind(cli):
    before = run_log.ROOT.handlers[:], run_log.ROOT.level, run_log.ROOT.propagate
    assert cli("--log-level", "debug", "list", "profiles")[0] == 0
    assert (run_log.ROOT.handlers, run_log.ROOT.level, run_log.ROOT.propagate) == before


def test_logging_costs_the_start_nothing():
    code = "import sys, truegrade.cli as c; c.main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "logging" not in done.stdout.splitlines()[-1].split()


def test_an_unknown_command_is_one_line():
    done = subprocess.run(
        [sys.executable, "-m", "truegrade", "nosuch"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.count("no command") == len(done.stderr.splitlines()) == 1
