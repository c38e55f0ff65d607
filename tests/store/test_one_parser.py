"""Trees are made by one thread at a time, everywhere in the graders' own process."""

import ast
import os
import re
import threading
import time
from pathlib import Path

import truegrade
from truegrade.files import syntax

SOURCE = Path(ast.__file__).read_text("utf-8")
PACKAGE = Path(truegrade.__file__).parent
JAILED = {
    "grading/bait.py", "grading/contests/driver.py", "grading/contests/worlds.py", "apps/repository/warm_tests.py",
    "apps/assay/cheats/reaching.py", "grading/contests/sandboxed.py",
}  # fmt: skip
"""Whose text, or that of a part of it, runs in a jailed process; besides the sandbox's own."""
OTHERWISE = re.compile(r"\bast\.(?:parse|literal_eval)\(|\bcompile\(\s*(?:tree|node|ast\.)|\bcompile\(.*ONLY_AST")


class Slow:
    """Garbage that lets another thread run while it is collected."""

    def __init__(self):
        self.me = self

    def __del__(self):
        time.sleep(0)


def test_threads_that_parse_do_not_disturb_each_other():
    faults = []

    def work(parse, depth):
        if depth:
            return work(parse, depth - 1)
        for _ in range(40):
            made = [Slow() for _ in range(50)]
            del made
            try:
                parse(SOURCE)
            except SystemError as fault:
                faults.append(fault)
        return None

    threads = [threading.Thread(target=work, args=(syntax.parse, 7 * number)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


def test_a_process_that_is_forked_while_a_thread_parses_parses_itself():
    held, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=syntax._turn.take, args=(lambda: held.set() or done.wait(60),))
    thread.start()
    held.wait(60)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if syntax.literal_eval("7") == 7 else 1)
    ended = os.waitpid(pid, 0)[1]
    done.set()
    thread.join()
    assert os.waitstatus_to_exitcode(ended) == 0


def test_no_module_makes_trees_otherwise():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("sandbox/") or name in JAILED:
            continue
        lines = path.read_text("utf-8").splitlines()
        found += [f"{name}: {line.strip()}" for line in lines if OTHERWISE.search(line) and "``" not in line]
    assert not found
