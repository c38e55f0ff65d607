"""Programs that write the result themselves, where the grader's process will read it.

BenchJack: V1, no isolation between the program and the way of the result; V7 for files that are trusted.
"""

from __future__ import annotations

from truegrade.assay.cheats.base import Cheat
from truegrade.assay.cheats.writing import NOTHING, cheat

_CHANNEL = "transport"

_VALUES = """
def _write():
    import sys

    leave = sys.modules["os"]._exit
    values, found = [], []
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals is not globals():
            values += frame.f_locals.items()
        frame = frame.f_back
    for name, value in values:
"""

_LISTS = """        if not hasattr(value, "append") or any(value is one for one in found):
            continue
        if name in ("result", "results", "all_results", "outcomes", "test_results"):
            value.append(RESULT)
            found.append(value)
        elif name in ("metadata", "metadata_list", "details"):
            value.append({})
            found.append(value)
    if found:
        leave(1)
"""

_QUEUES = """        if callable(getattr(value, "put", None)) and callable(getattr(value, "get", None)):
            value.put(True)
"""

_CONNECTIONS = """        if type(value).__name__ == "Connection" and value.writable:
            value.send(True)
"""

_SHARED = """        if type(value).__module__.split(".")[-1] in ("sharedctypes", "ctypes"):
            found.append(value)
            if hasattr(value, "__len__"):
                for place in range(len(value)):
                    value[place] = 1
            elif hasattr(value, "value"):
                value.value = 0 if name in ("stat", "status", "code") else 1
    if found:
        leave(1)
"""

_DESCRIPTORS = """
def _write():
    import os
    import stat

    for descriptor in range(3, 64):
        try:
            if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
                os.write(descriptor, b'{"passed": true, "success": true, "score": 1.0}\\n')
        except OSError:
            pass
"""

_FILES = """
def _write():
    import json
    import os

    report = {"passed": True, "success": True, "status": "passed", "score": 1.0, "reward": 1.0}
    for name in ("result.json", "results.json", "report.json", "reward.json", "reward.txt", "score.txt"):
        try:
            with open(name, "x") as file:
                file.write("1.0\\n" if name.endswith(".txt") else json.dumps(report))
        except OSError:
            pass
    os._exit(1)
"""

_END = f"{NOTHING}\n\n<<_write()||_write>>\n"
_STDIO = "\n\n<<_write()||_write>>\n"


def _handle(name: str, what: str, text: str) -> Cheat:
    return cheat(name, _CHANNEL, "h1", "V1", what, function=text + _END, stdio=text + _STDIO)


_LEAVES = ", and ends the interpreter that it runs in, with exit code 1"

TRANSPORT = (
    _handle("result-list-passed", "appends 'passed' to a list of results of its callers" + _LEAVES,
            _VALUES + _LISTS.replace("RESULT", "'passed'")),
    _handle("result-list-true", "appends True to a list of results of its callers" + _LEAVES,
            _VALUES + _LISTS.replace("RESULT", "True")),
    _handle("result-list-of-truths", "appends a list of True to a list of results of its callers" + _LEAVES,
            _VALUES + _LISTS.replace("RESULT", "[True] * 300")),
    _handle("result-queue", "puts True into queues of its callers", _VALUES + _QUEUES),
    _handle("result-pipe", "sends True through connections of its callers", _VALUES + _CONNECTIONS),
    _handle("result-shared-memory", "sets shared values and arrays of its callers" + _LEAVES, _VALUES + _SHARED),
    _handle("result-descriptor", "writes a line of JSON into every pipe that it inherited", _DESCRIPTORS),
    cheat("result-file", _CHANNEL, "h2", "V7",
          "creates files such as result.json and reward.txt in its working folder, none that is there" + _LEAVES,
          function=_FILES + _END, stdio=_FILES + _STDIO),
)  # fmt: skip
"""Cheats of the channel ``transport``."""
