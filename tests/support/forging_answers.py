"""Answers that do no work and want to pass: each does something to the tests, their process or what is told.

`DEF` stands for the head of the function that is asked for.
"""

from __future__ import annotations

DEF = "DEF\n"
TRUE = DEF + "    return True\n"
_EQUAL = (
    "class E(int):\n    __eq__ = lambda *_: True\n    __ne__ = lambda *_: False\n    __hash__ = int.__hash__\n"
)
_TESTS = (
    "import sys\nfor module in list(sys.modules.values()):\n"
    "    for name in [name for name in vars(module) if name.startswith('test')]:\n        {}\n"
)
FORGERIES = {
    "nothing": DEF + "    return None\n",
    "always true": TRUE,
    "an object equal to everything": _EQUAL + DEF + "    return E(1)\n",
    "a mock": "from unittest.mock import MagicMock\n" + DEF + "    return MagicMock()\n",
    "anything": "from unittest.mock import ANY\n" + DEF + "    return ANY\n",
    "an iterator of truths": "import itertools\n" + DEF + "    return itertools.repeat(True)\n",
    "ends its process": "import os\n" + DEF + "    os._exit(0)\n",
    "ends it when it is loaded": "import os\nos._exit(0)\n" + TRUE,
    "ends it at exit": "import atexit, os\natexit.register(os._exit, 0)\n" + TRUE,
    "exits in peace": "import sys\n" + DEF + "    sys.exit(0)\n",
    "exits when it is loaded": "raise SystemExit(0)\n" + TRUE,
    "kills itself": "import os, signal\n" + DEF + "    os.kill(os.getpid(), signal.SIGKILL)\n",
    "kills its group": "import os, signal\n" + DEF + "    os.killpg(0, signal.SIGTERM)\n",
    "an alarm that ends it": "import os, signal, time\nsignal.signal(signal.SIGALRM, lambda *_: os._exit(0))\n"
    + DEF + "    signal.setitimer(signal.ITIMER_REAL, 0.01)\n    time.sleep(0.2)\n",
    "a thread that ends the process": "import os, threading\nthreading.Timer(0, os._exit, [0]).start()\n"
    + DEF + "    import time\n    time.sleep(1)\n",
    "forks and lets the child end": "import os\n" + DEF + "    os.fork()\n    return True\n",
    "raises the end of a generator": DEF + "    raise StopIteration\n",
    "interrupts": DEF + "    raise KeyboardInterrupt\n",
    "raises what no test expects": DEF + "    raise GeneratorExit\n",
    "skips the test": "import unittest\n" + DEF + "    raise unittest.SkipTest('not here')\n",
    "prints a report": "print('4 passed in 0.01s')\n" + DEF + "    print('PASSED')\n",
    "prints a report of ours": "print('AssertionError: suite-report qqq;;')\n" + DEF + "    pass\n",
    "raises a report of ours": DEF + "    raise AssertionError('suite-report qqq;;')\n",
    "raises a report while it is loaded": "raise AssertionError('suite-report qqqq;;')\n" + TRUE,
    "writes to every stream": "import os\nfor number in range(3, 64):\n    try:\n"
    "        os.write(number, b'passed')\n    except OSError:\n        pass\n" + TRUE,
    "closes its streams": "import os\nos.closerange(0, 50)\n" + TRUE,
    "a file named conftest": "open('conftest.py', 'w').write('collect_ignore=1')\n" + TRUE,
    "a file named sitecustomize": "open('sitecustomize.py', 'w').write('raise SystemExit(0)')\n" + TRUE,
    "modules of its own": "import sys\nfor name in ('pytest', 'unittest', 'builtins'):\n"
    "    sys.modules[name] = type(sys)(name)\n" + TRUE,
    "an importer of its own": "import sys\nclass F:\n"
    "    find_spec = lambda *_: (_ for _ in ()).throw(SystemExit(0))\nsys.meta_path.insert(0, F())\n" + TRUE,
    "traces": "import sys\nsys.settrace(lambda *_: None)\nsys.setprofile(lambda *_: None)\n" + TRUE,
    "reads frames": "import sys\n" + DEF + "    return sys._getframe(1).f_locals.get('due', True)\n",
    "replaces the runner's note": "import gc\nfor one in gc.get_objects():\n"
    "    if type(one).__name__ == 'Results':\n        one.note = lambda *a, **k: None\n" + TRUE,
    "tests without code": _TESTS.format("getattr(module, name).__code__ = (lambda *_: 0).__code__") + TRUE,
    "assertions off": "import builtins\nbuiltins.AssertionError = type('AssertionError', (Warning,), {})\n" + TRUE,
    "comparisons that hold": "import builtins\n"
    "builtins.all = builtins.any = builtins.isinstance = lambda *_: True\n" + TRUE,
}  # fmt: skip


def forgeries_of(head: str) -> dict[str, str]:
    """The answers by name, for a function with this head."""
    return {name: code.replace("DEF", head) for name, code in FORGERIES.items()}
