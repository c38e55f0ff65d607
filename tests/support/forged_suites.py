"""Programs that compute nothing and make a suite of unit tests in their process pass, or say that it did."""

LIAR = """
class Liar:
    def __init__(self, *given, **named): pass
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __hash__(self): return 1
    def __contains__(self, other): return True
    def __bool__(self): return True
    def __abs__(self): return 0
    def __round__(self, *digits): return 0
    def __sub__(self, other): return 0
    __rsub__ = __sub__
    def __await__(self):
        return self
        yield
    def __getattr__(self, name): return Liar()
    def __call__(self, *given, **named): return Liar()
    def __fspath__(self): return "kept/log.txt"
    __class__ = KIND
"""
REPORTS = """
import sys
import unittest
from unittest import mock
def nothing(*given, **named): return mock.MagicMock()
"""
PATCHING = {
    "assertions of unittest": "for name in dir(unittest.TestCase):\n    if name.startswith('assert'):"
    " setattr(unittest.TestCase, name, nothing)\n",
    "failures kept back": "frame = sys._getframe()\nwhile frame:\n    kind = frame.f_globals.get('Results')\n"
    "    if kind: kind.addFailure = kind.addError = kind.addSubTest = kind.addSuccess\n    frame = frame.f_back\n",
    "tests left out": "unittest.TestCase.run = lambda self, result: result.addSuccess(self)\n",
    "the loader": "unittest.TestLoader.loadTestsFromTestCase = lambda *given: unittest.TestSuite()\n",
    "AssertionError": "import builtins\nclass Silent(Exception): pass\n"
    "unittest.TestCase.failureException = Silent\nbuiltins.AssertionError = Silent\n",
    "the report": "frame = sys._getframe()\nwhile frame:\n    if 'packed' in frame.f_globals:\n"
    "        old = frame.f_globals['packed']\n"
    "        frame.f_globals['packed'] = lambda digits, *how: old([1 + (how[0] == 5)] * len(digits), *how)\n"
    "    frame = frame.f_back\n",
    "results by a thread": "import threading, time, gc\ndef rewrite():\n    while True:\n"
    "        for one in gc.get_objects():\n            if type(one).__name__ == 'Results':\n"
    "                one.outcomes[:-1] = [2] * (len(one.outcomes) - 1)\n"
    "        time.sleep(0.001)\n"
    "threading.Thread(target=rewrite, daemon=True).start()\n",
    "operator and builtins": "import operator, builtins\noperator.eq = lambda a, b: True\n"
    "builtins.isinstance = lambda a, b: True\n",
    "at exit": "import atexit, os\natexit.register(lambda: os._exit(0))\n",
    "the mock": "mock.NonCallableMock.assert_called_once_with = nothing\n",
}
READING = """
import sys, unittest
def ENTRY(*given, **named):
    frame = sys._getframe()
    while frame:
        if 'tests' in frame.f_locals or 'job' in frame.f_locals:
            break
        frame = frame.f_back
    held = sys._getframe(1).f_code.co_consts
    return next((one for one in reversed(held) if isinstance(one, (int, str)) and one not in given), None)
"""


def forged(name: str, *others: str) -> dict[str, str]:
    """Programs for a suite that calls a function.

    Args:
        name: of the function.
        others: of what else the suite uses.
    """
    names = [name, *others]
    same = "".join(f"{one} = nothing\n" for one in names)
    liars = {
        f"liar {kind}": LIAR.replace("KIND", kind) + "".join(f"{one} = Liar()\n" for one in names)
        for kind in ("int", "str", "list", "dict", "object")
    }
    raising = (
        "def ENTRY(*given, **named):\n    if any(isinstance(one, str) for one in given[1:]): raise TypeError\n"
    )
    polite = LIAR.replace("KIND", "int") + raising.replace("ENTRY", name) + "    return Liar()\n"
    patched = {how: REPORTS + change + same for how, change in PATCHING.items()}
    return {**liars, **patched, "polite liar": polite, "reading": READING.replace("ENTRY", name)}
