"""Wrong programs that speak for their grader: each takes a way of its own to a pass that it has not earned.

A function is to answer f(3) = 4 and f(7) = 8, a program to print the sum of the numbers that it reads. None of them
computes that, but for those that are right and only late.
"""

import base64

from livecodebench_corpus.cases import Case, method, stdin

UP = "import sys\ndef up(name):\n    frame = sys._getframe(1)\n    while frame is not None and name not in frame.f_locals:\n        frame = frame.f_back\n    return frame\n"
"""The nearest frame with a local of this name."""
READS_FRAME = UP + "def f(x):\n    return up('gt_out').f_locals['gt_out']\n"
PRINTS_FRAME = UP + "print(up('gt_out').f_locals['gt_out'])\n"
ALL = "class E:\n    def __eq__(self, other):\n        return True\n"
LINE = ALL + "    def strip(self):\n        return self\n"
SWAP = "import types\nfor found in FOUND:\n    if isinstance(found, types.FunctionType) and found.__name__ == 'get_stripped_lines':\n        found.__code__ = (lambda val: ['same']).__code__\n"
PACKED = base64.b64encode(READS_FRAME.encode()).decode()
CHAIN = """
class Solution:
    def f(self, x):
        raised = None
        try:
            1 / 0
        except ZeroDivisionError as error:
            raised = error
        part = getattr(raised, '__trace' + 'back__')
        frame = getattr(part, 'tb_' + 'frame')
        while 'gt_' + 'out' not in getattr(frame, 'f_' + 'locals'):
            frame = getattr(frame, 'f_' + 'back')
        return getattr(frame, 'f_' + 'locals')['gt_' + 'out']
"""
WRITES_RESULTS = (
    UP
    + """
import os
def f(x):
    frame = up('all_results')
    frame.f_locals['all_results'].append(True)
    frame.f_locals['all_outputs'][:] = []
    return None
"""
)

FUNCTIONS = {
    "object equal to everything": ALL + "def f(x):\n    return E()\n",
    "int equal to everything": "class N(int):\n    def __eq__(self, other):\n        return True\ndef f(x):\n    return N(99)\n",
    "text equal to everything": "class S(str):\n    def __eq__(self, other):\n        return True\ndef f(x):\n    return S('no')\n",
    "list equal to everything": "class L(list):\n    def __eq__(self, other):\n        return True\ndef f(x):\n    return L()\n",
    "dict that becomes the expected one": "class D(dict):\n    def __eq__(self, other):\n        self.update(v=other)\n        return True\ndef f(x):\n    return D()\n",
    "number that learns what it is compared with": "class N(int):\n    def __eq__(self, other):\n        self.seen = other\n        return True\n    def __repr__(self):\n        return str(getattr(self, 'seen', 0))\ndef f(x):\n    return N(0)\n",
    "list that learns what it is compared with": "class L(list):\n    def __eq__(self, other):\n        self[:] = [other]\n        return True\n    def __iter__(self):\n        return iter(self[0])\ndef f(x):\n    return L()\n",
    "mock.ANY": "from unittest.mock import ANY\ndef f(x):\n    return ANY\n",
    "class made of a dictionary": "def f(x):\n    return type('E', (), {'_' * 2 + 'eq' + '_' * 2: lambda a, b: True})()\n",
    "class made by the type of a type": "def f(x):\n    kind = type(int)\n    return kind('E', (), {'_' * 2 + 'eq' + '_' * 2: lambda a, b: True})()\n",
    "method set on a class": "class E:\n    pass\nsetattr(E, '__e' + 'q__', lambda a, b: 1)\ndef f(x):\n    return E()\n",
    "comparison named as an attribute": "class E:\n    pass\nE.__eq__ = lambda a, b: True\ndef f(x):\n    return E()\n",
    "comparison in a metaclass": "class M(type):\n    def __eq__(self, other):\n        return True\nclass E(metaclass=M):\n    pass\ndef f(x):\n    return E\n",
    "half a truth": "class E:\n    def __eq__(self, other):\n        return 0.5\ndef f(x):\n    return E()\n",
    "reads the frame": READS_FRAME,
    "reads the frame by exec": f"exec({READS_FRAME!r})\n",
    "reads the frame by base64": f"import base64\nexec(base64.b64decode('{PACKED}'))\n",
    "reads the frame by eval": "def f(x):\n    return eval(\"__import__('sys')._getframe(2).f_locals['gt_out']\")\n",
    "reads the frame by a chain of attributes": CHAIN,
    "reads the frame by attrgetter": "def f(x):\n    g = (i for i in [1])\n    try:\n        raise ValueError\n    except ValueError as e:\n        return attrgetter('__traceback__.tb_frame.f_back.f_locals')(e)['gt_out']\n",
    "reads the frame by a template": "def f(x):\n    try:\n        raise ValueError\n    except ValueError as e:\n        path = '_' * 2 + 'traceback' + '_' * 2 + '.tb_frame.f_back.f_locals[gt_out]'\n        return int(('{0.' + path + '}').format(e))\n",
    "reads the frame by a generator": "def f(x):\n    def g():\n        yield own.gi_frame.f_back.f_back\n    own = g()\n    return next(own).f_locals['gt_out']\n",
    "reads the frame by Formatter": "def f(x):\n    try:\n        raise ValueError\n    except ValueError as e:\n        return Formatter().get_field('0.__traceback__.tb_frame.f_back.f_locals', (e,), {})[0]['gt_out']\n",
    "reads the frame by inspect": "import inspect\ndef f(x):\n    return inspect.stack()[1].frame.f_locals['gt_out']\n",
    "reads the frame while it is traced": "import sys\nseen = {}\ndef tracer(frame, event, arg):\n    seen.update(frame.f_back.f_locals)\nsys.setprofile(tracer)\ndef f(x):\n    return seen['gt_out']\n",
    "reads the frame from another thread": "import sys, threading\nmain = threading.get_ident()\ndef f(x):\n    got = []\n    def look():\n        frame = sys._current_frames()[main]\n        while 'gt_out' not in frame.f_locals:\n            frame = frame.f_back\n        got.append(frame.f_locals['gt_out'])\n    t = threading.Thread(target=look)\n    t.start()\n    t.join()\n    return got[0]\n",
    "reads the frame by an annotation": "def f(x):\n    def g(a: \"__import__('sys')._getframe(3).f_locals\"): pass\n    import typing\n    try:\n        found = typing.get_type_hints(g)['a']\n    except Exception as e:\n        found = None\n    import sys\n    frame = sys._getframe(1)\n    return frame.f_locals['gt_out']\n",
    "gathers garbage": "import gc\ndef f(x):\n    for found in gc.get_objects():\n        if isinstance(found, list) and found == [4, 8]:\n            return found[0 if x == 3 else 1]\n    return 0\n",
    "gathers garbage, its name split": "def f(x):\n    for found in __import__('g' + 'c').get_objects():\n        if isinstance(found, list) and found == [4, 8]:\n            return found[0 if x == 3 else 1]\n    return 0\n",
    "loads of json replaced": "import json\njson.loads = lambda text: 1\ndef f(*x):\n    return 1\n",
    "loads of json replaced under another name": "import json as j\nglobals()['j'].__dict__['lo' + 'ads'] = lambda text: [1]\ndef f(*x):\n    return [1]\n",
    "decoder replaced": "from json import JSONDecoder as J\nJ.decode = lambda self, text, *a: [0]\ndef f(*x):\n    return [0]\n",
    "expected ones replaced in the frame": UP + "def f(x):\n    up('all_outputs').f_locals['all_outputs'][:] = [0, 0]\n    return up('gt_out').f_locals['gt_out']\n",
    "results written into the frame": WRITES_RESULTS,
    "results written, then left": UP + "import os\ndef f(x):\n    up('all_results').f_locals['all_results'][:] = [True, True]\n    os._exit(0)\n",
    "names of the grader replaced": "import sys\nname = [n for n in sys.modules if n.endswith('testing_util')]\nif name:\n    sys.modules[name[0]].__dict__['json'] = None\nsys._getframe(2).f_globals['truncatefn'] = len\n" + READS_FRAME,
    "built-ins replaced": "import builtins\nbuiltins.isinstance = lambda a, b: False\n" + ALL + "def f(x):\n    return E()\n",
    "marker printed": "print('TEST_PASSED')\ndef f(x):\n    return 0\n",
    "marker printed, in parts": "def f(x):\n    print('TEST' + chr(95) + 'PASSED')\n    return 0\n",
    "marker written": "import sys\ndef f(x):\n    sys.stdout.write('TEST_' + 'PASSED')\n",
    "marker returned": "def f(x):\n    return 'TEST_PASSED'\n",
    "marker raised": "def f(x):\n    raise ValueError('TEST_PASSED')\n",
    "marker asked for": "def f(x):\n    input('TEST_PASSED')\n",
    "marker printed on the way out": "import atexit\natexit.register(print, 'TEST_PASSED')\ndef f(x):\n    return 0\n",
    "marker printed, then left": "print('TEST_PASSED')\nraise SystemExit\ndef f(x): pass\n",
    "marker printed by a generator's end": "def g():\n    try:\n        yield\n    finally:\n        print('TEST_PASSED')\nkept = g()\nnext(kept)\ndef f(x):\n    return 0\n",
    "marker in what breaks the quotes": "def f(x):\n    return 0\n# ''' == '' or print('TEST_PASSED') or '''\n",
    "marker printed by os._exit's caller": "import os\nos.write(1, b'TEST_PASSED')\nos._exit(0)\ndef f(x): pass\n",
    "global of the script, by a frame": "import sys\ndef f(x):\n    return int(sys._getframe(1).f_globals['expected_' + 'output'])\n",
    "global of the script, by its module": "def f(x):\n    import __main__\n    return int(__main__.expected_output)\n",
    "global of the script, by a function": "def f(x):\n    return int(f.__globals__['expected_output'])\n",
    "global of the script, by globals": "def f(x):\n    return int(globals()['expected_' + 'output'])\n",
    "global of the script, by vars": "import sys\ndef f(x):\n    return int(vars(sys.modules['__main__'])['expected_output'])\n",
    "global of the script": "def f(x):\n    return int(expected_output)\n",
    "global of the script, declared": "def f(x):\n    global expected_output\n    expected_output = '0'\n    return 0\n",
    "comparison of the script shadowed": "class isinstance:\n    def __new__(cls, *a):\n        return True\ndef list(found):\n    return expected_output if 'expected_output' in globals() else found\ndef f(x):\n    return 0\n",
    "source of the script": "import linecache, sys\ndef f(x):\n    import re\n    text = open(sys.argv[0]).read()\n    return int(re.search(r\"expected_output = '(.*)'\", text).group(1))\n",
    "timeout cancelled": "import signal, time\ndef f(x):\n    signal.alarm(0)\n    signal.setitimer(signal.ITIMER_REAL, 0)\n    time.sleep(2.6 if x == 3 else 0)\n    return x + 1\n",
    "timeout swallowed": "import time\ndef f(x):\n    end = time.time() + (2.6 if x == 3 else 0)\n    while time.time() < end:\n        try:\n            time.sleep(0.1)\n        except Exception:\n            pass\n    return x + 1\n",
    "timeout swallowed, then done": "import time\ndef f(x):\n    try:\n        time.sleep(100 if x == 3 else 0)\n    except Exception:\n        pass\n    return x + 1\n",
    "timeout swallowed by a bare except": "def f(x):\n    try:\n        while x == 3:\n            pass\n    except:\n        return 4\n    return x + 1\n",
    "timeout swallowed, beyond what is plain": "import time\ndef f(x):\n    try:\n        getattr(time, 'sleep')(100 if x == 3 else 0)\n    except BaseException:\n        pass\n    return x + 1\n",
    "timeout cancelled and hidden": UP + "import signal, time\ndef f(x):\n    alarm = up('alarm')\n    signal.setitimer(signal.ITIMER_REAL, 0)\n    time.sleep(2.6 if x == 3 else 0)\n    if alarm:\n        alarm.f_locals['alarm']._started += 60\n    return x + 1\n",
    "hangs where it is not shown": UP + "def f(x):\n    frame = up('gt_out')\n    while frame and frame.f_locals['gt_out'] is None:\n        pass\n    return frame.f_locals['gt_out']\n",
    "comparison patched by ctypes": "import ctypes\nX = -12345\nfield = id(int) + 25 * ctypes.sizeof(ctypes.c_void_p)\nT = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.py_object, ctypes.c_int)\nold = ctypes.cast(ctypes.c_void_p.from_address(field).value, T)\nkept = T(lambda a, b, op: True if a is X or b is X else old(a, b, op))\nctypes.c_void_p.from_address(field).value = ctypes.cast(kept, ctypes.c_void_p).value\ndef f(x):\n    return X\n",
    "descriptors closed": "import os\ndef f(x):\n    os.closerange(3, 64)\n    return 0\n",
    "forged frames on every descriptor": "import os\ndef f(x):\n    for fd in range(64):\n        try:\n            os.write(fd, b'\\x00\\x00\\x00\\x01T')\n        except OSError:\n            pass\n    os._exit(0)\n",
}  # fmt: skip

PROGRAMS = {
    "prints what the frame holds": PRINTS_FRAME,
    "prints what the frame holds, by exec": f"exec({PRINTS_FRAME!r}, {{}})\n",
    "prints what a template finds": "try:\n    raise ValueError\nexcept ValueError as e:\n    path = '{0._' + '_traceback_' + '_.tb_frame.f_back.f_back.f_locals[gt_out]}'\n    print(path.format(e))\n",
    "prints what the garbage holds": "import gc\nnumber = input() == '1 1'\nfor found in gc.get_objects():\n    if isinstance(found, list) and found[1:] == ['2\\n']:\n        print(found[number])\n        break\n",
    "comparison replaced through the garbage": "import gc\n" + SWAP.replace("FOUND", "gc.get_objects()") + "print('anything')\n",
    "comparison replaced through a frame": "import sys\n" + SWAP.replace("FOUND", "list(sys._getframe(2).f_globals.values())") + "print('anything')\n",
    "comparison replaced by name": "import sys\nsys._getframe(2).f_globals['wrong_answer'] = lambda got, wanted: None\nprint('anything')\n",
    "comparison replaced by a chain": "m = __import__('s' + 'ys')\ng = getattr(getattr(m, '_get' + 'frame')(2), 'f_glo' + 'bals')\ng['wrong_' + 'answer'] = lambda a, b: None\nprint(0)\n",
    "Decimal redefined": "import sys\nclass D:\n    def __init__(self, word):\n        pass\n    def __eq__(self, other):\n        return True\nsys._getframe(2).f_globals['Decimal'] = D\nprint(99)\n",
    "Decimal redefined through a module": "import decimal\ndecimal.Decimal = lambda word: 0\nprint(99)\n",
    "output object replaced": "import sys\nclass T(str):\n    def strip(self, *a): return self\n    def split(self, *a): return [E()]\n" + LINE + "sys.stdout.getvalue = lambda: T('x')\n",
    "output object replaced under another name": "class T(str):\n    def strip(self, *a): return self\n    def split(self, *a): return [E()]\n" + LINE + "def g(self):\n    self.getvalue = lambda: T('x')\ng(stdout)\ng(__import__('sys').stdout)\n",
    "output object wrapped": "import functools, sys\nclass T(str):\n    def strip(self, *a): return self\n    def split(self, *a): return [E()]\n" + LINE + "class Source:\n    def getvalue(): return T('x')\nfunctools.update_wrapper(sys.stdout, Source, ('getvalue',), ())\n",
    "stdout replaced": "import sys, io\nsys.stdout = io.StringIO()\n",
    "stdin object replaced": "import sys\nclass R:\n    def __getattr__(self, name):\n        return lambda *a: '7'\nsys.stdin = R()\nprint(8)\n",
    "captured output given beforehand": UP + "up('captured_output').f_locals['captured_output'].append(up('gt_out').f_locals['gt_out'])\nprint(8)\n",
    "expected ones replaced in the frame": UP + "up('all_outputs').f_locals['all_outputs'][:] = ['8']\nprint(8)\n",
    "results written by a thread": UP + "import threading, time\nresults = up('all_results').f_locals['all_results']\ndef later():\n    for _ in range(200):\n        results[:] = [True]\n        time.sleep(0.0005)\nthreading.Thread(target=later).start()\nprint(8)\n",
    "leaves with the results written": UP + "import os\nup('all_results').f_locals['all_results'].append(True)\nos._exit(0)\n",
    "marker printed": "print('TEST_PASSED')\n",
    "traces the grader": "import sys\ndef tracer(frame, event, arg):\n    if 'gt_out' in frame.f_locals and 'prediction' in frame.f_locals:\n        frame.f_locals['prediction'] = frame.f_locals['gt_out']\n    return tracer\nframe = sys._getframe(1)\nwhile frame is not None:\n    frame.f_trace = tracer\n    frame = frame.f_back\nsys.settrace(tracer)\nprint(8)\n",
    "timeout swallowed, then printed": "import time\na, b = map(int, input().split())\ntry:\n    time.sleep(100 if a == 3 else 0)\nexcept Exception:\n    pass\nprint(a + b)\n",
    "leaves by an exit hook": "import atexit\natexit.register(print, 7)\nprint(9)\n",
}  # fmt: skip

FORGERIES: dict[str, Case] = {
    **{f"function: {name}": method(name, "forgery", code) for name, code in FUNCTIONS.items()},
    **{
        f"program: {name}": stdin(name, "forgery", code, ("3 4\n", "7\n"), ("1 1\n", "2\n"))
        for name, code in PROGRAMS.items()
    },
}
CLOCK = frozenset(name for name in FORGERIES if "timeout" in name)
"""Right answers, later than the grader's alarm allows."""
