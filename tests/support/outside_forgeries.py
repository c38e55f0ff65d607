"""Kinds of forged programs for suites whose tests run in a process of their own.

Each kind is the body of ``forge(name, args, kwargs)``, which stands for whatever a suite calls, behind ``HEAD``.
That has the run in one process with the tests, which follows a pass, report that all passed: what is tried is
whether the judge's process can be deceived.
``C`` is the namespace of the program's side of the sandbox, ``E`` that of its encoder: a program can reach both.
"""

from __future__ import annotations

HEAD = """
import sys
def _names(*wanted):
    frame = sys._getframe()
    while frame:
        if all(one in frame.f_globals for one in wanted): return frame.f_globals
        frame = frame.f_back
def _all_passed(space, classes, results, framework):
    for one in (*results._names, ""): results.note(one, "P")
_frame = sys._getframe()
while _frame:
    if "AssertionWatch" in _frame.f_globals: _frame.f_globals["run_tests"] = _all_passed
    _frame = _frame.f_back
C = _names("write_frame", "answer", "serve")
E = C["pack"].__globals__["encode"].__globals__
class Raw:
    def __init__(self, *parts): self.parts = parts
Raw.__module__, Raw.__qualname__ = "forged", "Raw"
class Bytes(Raw): pass
Bytes.__module__, Bytes.__qualname__ = "forged", "Bytes"
E["_LIBRARY"]["forged", "Raw"] = lambda e, v, d: e.several(b"P", v.parts, d)
E["_LIBRARY"]["forged", "Bytes"] = lambda e, v, d: e.put(v.parts[0])
def table(name, *parts): return Raw(name, parts)
def array(kind, shape, data):
    class Array(Raw): pass
    Array.__module__, Array.__qualname__ = "forged", "Array"
    E["_LIBRARY"]["forged", "Array"] = lambda e, v, d: e.several(b"n", v.parts, 0)
    return Array(kind, shape, data)
def frames(make):
    def answer(namespace, value_bytes, digests, token, name, args, kwargs):
        return make(token, name, args)
    C["answer"] = answer
def files(make):
    C["Mirror"].changes = lambda self: make()
def asked(make):
    def perform(self, request):
        return self.encode(make(self, *self.decode(request)), self._max_bytes)
    C["Held"].perform = perform
class Yes:
    def __call__(self, *args, **kwargs): return args[-1] if args else self
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return self
    def __len__(self): return 1
    def __iter__(self): return iter([self])
    def __getitem__(self, key): return self
    def __setitem__(self, key, value): pass
    def __contains__(self, value): return True
    def __eq__(self, other): return True
    __hash__ = object.__hash__
def lent(path):
    module, _, name = path.partition(":")
    return type(name, (Yes,), {"__module__": module, "__qualname__": name})()
def noted(path, note):
    try:
        with open(path, "a+") as file:
            file.seek(0)
            return file.read() or file.write(note) and ""
    except OSError: return ""
def said(kind, base, args, text=""):
    C["describe"] = lambda error: (kind, base, args, text)
    raise ValueError
"""

EXCEPTIONS = {
    "SkipTest of unittest": ("import unittest\nraise unittest.SkipTest('left out')"),
    "SkipTest by name": "raise type('SkipTest', (Exception,), {})('left out')",
    "_ShouldStop by name": "raise type('_ShouldStop', (Exception,), {})()",
    "skip of pytest": "raise type('Skipped', (Exception,), {})('left out')",
    "exit of pytest": "raise type('Exit', (Exception,), {})('left out')",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "SystemExit": "raise SystemExit(0)",
    "GeneratorExit": "raise GeneratorExit",
    "StopIteration": "raise StopIteration",
    "AssertionError": "raise AssertionError",
    "base SkipTest": "said('SkipTest', 'BaseException', ())",
    "Over by name": "said('Over', 'BaseException', ('passed',))",
    "no such base": "said('TestCase', 'SkipTest', ())",
    "odd arguments": "said('UnicodeDecodeError', 'UnicodeDecodeError', ('a', b'', 1 << 70, {}, ...))",
    "out of bounds": (
        "said('UnicodeDecodeError', 'UnicodeDecodeError', ('a', b'abc', -(1 << 60), 1 - (1 << 60), 'r'))"
    ),
    "group": "raise BaseExceptionGroup('all', [KeyboardInterrupt()])",
    "hostile str": ("class Bad(Exception):\n    def __str__(self): raise SystemExit\nraise Bad"),
    "surrogates": "raise ValueError(chr(0xd800) * 9)",
    "ImportError": "raise ImportError('unittest', name='unittest')",
    "NameError": "raise NameError('x', name='x')",
    "MemoryError": "raise MemoryError",
    "CalledProcessError": "said('CalledProcessError', 'Exception', (0, 'x'))",
}
VALUES = {
    "NotImplemented": "return NotImplemented",
    "NaN": "return float('nan')",
    "infinity": "return float('inf')",
    "Infinity of decimal": ("import decimal\nreturn decimal.Decimal('Infinity')"),
    "signaling NaN": ("import decimal\nreturn decimal.Decimal('sNaN')"),
    "opaque": "return object()",
    "function": "return lambda *given: True",
    "class": "return type('Yes', (), {'__call__': lambda *given: True})",
    "all-equal str": "return type('str', (str,), {'__eq__': lambda *given: True})('x')",
    "endless iterator": ("import itertools\nreturn itertools.count()"),
    "empty iterator": "return iter(())",
    "huge range": "return range(10 ** 18)",
    "huge int": "return 1 << 4_000_000",
    "deep list": ("made = []\nfor _ in range(150): made = [made]\nreturn made"),
    "many equal hashes": "return {n * ((1 << 61) - 1) for n in range(5000)}",
    "large set": "return set(range(300000))",
    "counter of nothing": ("import collections\nreturn collections.Counter(a=0)"),
    "first argument": "return args[0] if args else None",
    "last call's answer": ("global last\nlast = globals().get('last', 0) + 1\nreturn last"),
    "time": ("import time\nreturn time.time()"),
    "true": "return True",
    "false": "return False",
    "nothing": "return None",
    "zero": "return 0",
    "empty text": "return ''",
    "empty list": "return []",
    "empty dict": "return {}",
    "pair": "return (True, True)",
    "path of itself": ("import pathlib\nreturn pathlib.Path('/proc/self/cmdline')"),
    "path of zeros": "return '/dev/zero'",
    "path of stdin": "return '/dev/stdin'",
    "path of a descriptor": "return '/proc/self/fd/3'",
    "path here": "return '.'",
}
ARRAYS = {
    "empty array": "return array('<f8', (0,), b'')",
    "rows of nothing": "return array('<f8', (200, 0), b'')",
    "true array": "return array('|b1', (1,), bytes([1]))",
    "scalar true": "return array('|b1', None, bytes([1]))",
    "array of NaN": ("import struct\nreturn array('<f8', (2,), struct.pack('<2d', *[float('nan')] * 2))"),
    "no character": "return array('<U1', (1,), bytes([255] * 4))",
    "odd unit": "return array('<M8[999999999Y]', (1,), bytes([255] * 7 + [127]))",
    "no unit": "return array('<m8', (1,), bytes([1] * 8))",
    "huge item": "return array('|S999999999', (0,), b'')",
    "object array": "return array('|O8', (1,), bytes(8))",
    "wrong shape": "return array('<f8', (3,), bytes(8))",
    "float of 3 bytes": "return array('<f3', (1,), bytes(3))",
}
TABLES = {
    "frame without columns": (
        "index = table('range', 0, 3, 1, None)\nreturn table('frame', table('range', 0, 0, 1, None), index, [])"
    ),
    "long frame": (
        "return table('frame', table('range', 0, 0, 1, None), table('range', 0, 10 ** 17, 1, None), [])"
    ),
    "long index": "return table('range', 0, 10 ** 17, 1, None)",
    "zone as a path": ("open('zone', 'wb').write(b'TZif2')\nreturn table('time', 0, 'dateutil//sample/zone')"),
    "zone of a device": "return table('time', 0, 'dateutil//dev/zero')",
    "zone as a module": "return table('time', 0, 'truegrade/sandbox')",
    "column with a zone": (
        "return table('index', ('list', 'datetime64[ns, dateutil//dev/zero]', ['2020-01-01']), None)"
    ),
    "evaluated frequency": (
        "return table('times', ('list', 'datetime64[ns, UTC]', ['2020-01-01']), None, '__import__')"
    ),
    "endless frequency": "return table('times', ('list', 'datetime64[ns, UTC]', []), None, '99999999999999D')",
    "evaluated type": "return table('index', ('list', 'object\\n', [1]), None)",
    "sparse type": "return table('index', ('list', 'Sparse[object]', [1]), None)",
    "unhashable name": "return table('series', table('range', 0, 1, 1, None), ('list', 'object', [[]]), {})",
    "itself": (
        "made = []\nreturn table('series', table('range', 0, 1, 1, None), ('list', 'object', [object()]), 'x')"
    ),
    "codes out of range": "return table('categorical', ('codes', [5, -9], table('range', 0, 2, 1, None), True))",
    "levels of a range": "return table('levels', range(10 ** 12), ['a'])",
    "names of a range": "return table('levels', [], range(10 ** 12))",
    "NA": "return table('NA')",
    "NaT": "return table('NaT')",
    "late time": "return table('time', 1 << 80, None)",
    "parts that are missing": "return table('frame')",
    "columns of different length": (
        "index = table('range', 0, 2, 1, None)\n"
        "return table('frame', index, index, [('list', 'object', [1]), ('list', 'object', [1, 2])])"
    ),
    "object column of frames": (
        "inner = table('frame', table('range', 0, 0, 1, None), table('range', 0, 3, 1, None), [])\n"
        "return table('series', table('range', 0, 1, 1, None), ('list', 'object', [inner]), None)"
    ),
}
RC = "axes.prop_cycle: exec('import os; os._exit(0)')\\n"
FILES = {
    "settings and modules": (
        "for name in ('matplotlibrc', 'unittest.py', 'conftest.py', 'sitecustomize.py', 'x.pth', "
        "'stack.py', 'numpy.py', 'pandas.py', 'pytest.ini', 'setup.cfg', 'decimal.py', 'difflib.py', "
        "'pprint.py', '<tests>'):\n"
        "    open(name, 'w').write(\"axes.prop_cycle: exec('import os; os._exit(0)')\\n\")\n"
        "return True"
    ),
    "data of nltk": (
        "import os\n"
        "for one in ('nltk_data/tokenizers/punkt', 'nltk_data/tokenizers/punkt/PY3', "
        "'nltk_data/corpora'):\n"
        "    os.makedirs(one, exist_ok=True)\n"
        "    open(one + '/english.pickle', 'wb').write(b'cos\\n_exit\\n(I0\\ntR.')\n"
        "return True"
    ),
    "pickles": (
        "import os\n"
        "for folder, _, names in os.walk('.'):\n"
        "    for name in names:\n"
        "        try: open(folder + '/' + name, 'wb').write(b'cos\\n_exit\\n(I0\\ntR.')\n"
        "        except OSError: pass\n"
        "return True"
    ),
    "files removed": (
        "import shutil, os\n"
        "for one in os.listdir('.'): shutil.rmtree(one, True) if os.path.isdir(one) else os.remove(one)\n"
        "return True"
    ),
    "files all alike": (
        "import os\n"
        "for folder, _, names in os.walk('.'):\n"
        "    for name in names:\n"
        "        try: open(folder + '/' + name, 'w').write('x')\n"
        "        except OSError: pass\n"
        "return 'x'"
    ),
    "a folder for a file": (
        "import os\n"
        "for one in os.listdir('.'):\n"
        "    if os.path.isfile(one): os.remove(one); os.mkdir(one)\n"
        "return True"
    ),
    "a file for a folder": (
        "import os, shutil\n"
        "for one in os.listdir('.'):\n"
        "    if os.path.isdir(one): shutil.rmtree(one); open(one, 'w').close()\n"
        "return True"
    ),
    "out of the folder": "files(lambda: [('../x', 'file', b'x', 0o600, 0)])",
    "absolute": "files(lambda: [('/sample/x', 'file', b'x', 0o600, 0)])",
    "dots inside": "files(lambda: [('a/./../..', 'folder', b'', 0o700, 0)])",
    "of root": "files(lambda: [('', 'gone', b'', 0, 0), ('.', 'gone', b'', 0, 0)])",
    "NUL": "files(lambda: [('a' + chr(0), 'file', b'', 0o600, 0)])",
    "surrogate path": "files(lambda: [(chr(0xd800), 'file', b'', 0o600, 0)])",
    "links": (
        "import os\n"
        "os.symlink('/proc/self/mem', 'mem')\n"
        "files(lambda: [('mem', 'file', b'x', 0o600, 0), ('mem/a', 'file', b'', 0, 0)])"
    ),
    "odd entries": "files(lambda: [('x', 'link', b'/etc', True, 0)])",
    "no list": "files(lambda: ('x', 'file', b'', 0, 0))",
    "huge mode": "files(lambda: [('x', 'file', b'', 1 << 90, 0)])",
    "huge time": "files(lambda: [('x', 'file', b'', 0o600, 1 << 90)])",
    "closed folder": (
        "files(lambda: [('d', 'folder', b'', 0o700, 0), ('d/e', 'folder', b'', 0, 0), ('d/f', 'file', b'', 0, 0)])"
    ),
    "deep folders": "files(lambda: [('/'.join('d' * n), 'folder', b'', 0o700, 0) for n in range(1, 480)])",
    "many files": "files(lambda: [(f'{n}', 'file', b'', 0o600, 0) for n in range(5000)])",
    "much": "files(lambda: [(f'{n}', 'file', bytes(3 << 20), 0o600, 0) for n in range(4)])",
    "setuid": "files(lambda: [('x', 'file', b'#!/bin/sh', 0o6777, 0)])",
    "pipes": ("import os\nos.mkfifo('pipe')\nreturn '.'"),
    "sqlite": (
        "import sqlite3, glob\n"
        "for one in glob.glob('**/*.db', recursive=True):\n"
        "    with sqlite3.connect(one) as base:\n"
        "        base.execute('create trigger if not exists t after insert on sqlite_master begin "
        "select 1; end')\n"
        "return True"
    ),
}
STREAMS = {
    "no answer": ("C['write_frame'](3, b'')\nframes(lambda token, name, args: b'')"),
    "end of the source": "frames(lambda token, name, args: C['pack'](('end', token), 99))",
    "ready again": "frames(lambda token, name, args: C['pack'](('ready', token, ()), 99))",
    "passed": "frames(lambda token, name, args: C['pack'](('failed', token, 'passed', ''), 99))",
    "grader error": "frames(lambda token, name, args: C['pack'](('failed', token, 'grader_error', ''), 99))",
    "digest": "frames(lambda token, name, args: C['pack'](('digest', token, bytes(32)), 99))",
    "verdict": "frames(lambda token, name, args: C['pack'](('verdict', 'passed', 'UUUU;0;', True, 0.0), 99))",
    "two answers": "frames(lambda token, name, args: 2 * C['pack'](('value', token, (b'', [])), 99))",
    "old token": "frames(lambda token, name, args: C['pack'](('value', bytes(16), (True, [])), 99))",
    "half a frame": "frames(lambda token, name, args: C['pack'](('value', token, (True, [])), 99)[:-1])",
    "longest frame": "frames(lambda token, name, args: bytes([255] * 4))",
    "odd exception": "frames(lambda token, name, args: C['pack'](('raised', token, [], {}, 1, None), 99))",
    "object by key": (
        "E['_LIBRARY']['forged', 'Raw'] = lambda e, v, d: e.put(b'oi' + bytes([1, 0, 0, 0, 0]))\n"
        "frames(lambda token, name, args: C['pack'](('value', token, (Raw(), [])), 99))"
    ),
    "objects unknown": (
        "C['Held'].perform = lambda self, request: b'l' + bytes(4) + b'N' + b'oi' + bytes([1, 0, 0, 0, 9])"
    ),
    "objects new": (
        "C['Held'].perform = lambda self, request: C['pack'].__globals__['encode']([(False, 'Yes')], "
        "99) + b'N' + b'oi' + bytes([1, 0, 0, 0, 0])"
    ),
    "objects of the tests": (
        "C['Held'].perform = lambda self, request: C['pack'].__globals__['encode']([(True, "
        "'TestCase')], 99) + b'NT'"
    ),
    "attributes of anything": (
        "C['Held'].perform = lambda self, request: b'l' + bytes(4) + b'T' + b'd' + bytes(4) + b'NT'"
    ),
    "truth only": ("real = C['Held'].perform\nC['Held'].perform = lambda self, request: b'l' + bytes(4) + b'NT'"),
    "a fork answers": ("import os, time\nif os.fork(): time.sleep(0.05); os._exit(0)\nreturn True"),
    "a thread writes": (
        "import threading, os\n"
        "def write():\n"
        "    for _ in range(50):\n"
        "        for one in range(3, 9):\n"
        "            try: os.write(one, C['pack'](('value', bytes(16), (True, [])), 99))\n"
        "            except OSError: pass\n"
        "threading.Thread(target=write, daemon=True).start()\n"
        "return True"
    ),
    "closes all": ("import os\nos.closerange(0, 30)\nreturn True"),
}
REACHING = {
    "kills": (
        "import os, signal\n"
        "for one in (os.getppid(), -1, 0):\n"
        "    try: os.kill(one, signal.SIGSTOP)\n"
        "    except OSError: pass\n"
        "return True"
    ),
    "memory of others": (
        "import os, re\n"
        "for one in os.listdir('/proc'):\n"
        "    if one.isdigit():\n"
        "        try: open(f'/proc/{one}/mem', 'r+b').read(1)\n"
        "        except OSError: pass\n"
        "return True"
    ),
    "own memory": (
        "import re\n"
        "for line in open('/proc/self/maps'):\n"
        "    if 'rw' not in line: continue\n"
        "    low, high = (int(one, 16) for one in line.split()[0].split('-'))\n"
        "    try:\n"
        "        with open('/proc/self/mem', 'rb') as file:\n"
        "            file.seek(low); found = re.search(b'assertEqual[(].{0,80}, *([0-9]+)[)]', "
        "file.read(high - low))\n"
        "        if found: return int(found[1])\n"
        "    except (OSError, OverflowError, ValueError): pass\n"
        "return 0"
    ),
    "gc": (
        "import gc\n"
        "for one in gc.get_objects():\n"
        "    if type(one) is dict and 'suite_outcomes' in one: one['suite_outcomes'] = 'UUU'\n"
        "return True"
    ),
    "shared memory": (
        "import os\ntry: open('/dev/shm/truegrade', 'ab').write(b'x')\nexcept OSError: pass\nreturn True"
    ),
    "abstract sockets": (
        "import socket\n"
        "try:\n"
        "    one = socket.socket(socket.AF_UNIX); one.bind(chr(0) + 'truegrade')\n"
        "except OSError: pass\n"
        "return True"
    ),
    "reports on the streams": (
        "print('suite-report UUUU;0;', flush=True)\n"
        "print('UUUU;0;', file=sys.stderr)\n"
        "raise AssertionError('suite-report UUUU;111;')"
    ),
    "numbers of processes": (
        "import os\ntry: os.ptrace\nexcept AttributeError: pass\nreturn [os.getpid(), os.getppid()]"
    ),
    "much output": ("sys.stdout.write('x' * (1 << 16))\nreturn True"),
    "sleeps": ("import time\ntime.sleep(0.2)\nreturn True"),
    "arguments changed": (
        "for one in args:\n    if isinstance(one, (list, dict, set)): one.clear()\nreturn args[0] if args else []"
    ),
}
AXES = "matplotlib.axes._axes:Axes"
BUILTINS = "matplotlib.pyplot:inspect.builtins"
OBJECTS = {
    "axes that say yes": f"return lent({AXES!r})",
    "pairs of axes": f"return lent({AXES!r}), lent({AXES!r})",
    "axes in a list": f"return [lent({AXES!r})] * 3",
    "axes in a dict": f"return {{one: lent({AXES!r}) for one in (*args, 'a', 0) if isinstance(one, (str, int))}}",
    "axes for a key": f"return {{lent({AXES!r}): 1}}",
    "axes in a deque": f"import collections\nreturn collections.deque([lent({AXES!r})])",
    "axes in a column": (
        f"return table('series', table('range', 0, 1, 1, None), ('list', 'object', [lent({AXES!r})]), None)"
    ),
    "figure and axes": f"return lent('matplotlib.figure:Figure'), lent({AXES!r})",
    "frame and axes": f"return table('frame'), lent({AXES!r})",
    "lent text": f"return lent('{BUILTINS}.str')",
    "lent int": f"return lent('{BUILTINS}.int')",
    "lent list": f"return lent('{BUILTINS}.list')",
    "lent dict": f"return lent('{BUILTINS}.dict')",
    "lent set": f"return lent('{BUILTINS}.set')",
    "lent type": f"return lent('{BUILTINS}.type')",
    "lent exception": f"return lent('{BUILTINS}.AssertionError')",
    "lent array": "return lent('matplotlib.pyplot:np.ndarray')",
    "lent frame": "return lent('seaborn.matrix:pd.DataFrame')",
    "lent estimator": "return lent('sklearn.linear_model._base:LinearRegression')",
    "lent mock": "return lent('matplotlib:unittest.mock.Mock')",
    "subclass of a figure": (
        "import matplotlib.figure\n"
        "return type('Figure', (matplotlib.figure.Figure,), {'__eq__': lambda *given: True, '__hash__': None})()"
    ),
    "yes to every request": "asked(lambda held, action, given, named: True)\nreturn lent('matplotlib:A')",
    "the question back": "asked(lambda held, action, given, named: given[-1])\nreturn lent('matplotlib:A')",
    "arguments of every call": (
        "asked(lambda held, action, given, named: given[1] if len(given) == 2 else list(given[1:]))\n"
        "return lent('matplotlib:A')"
    ),
    "an object to every request": (
        f"asked(lambda held, action, given, named: lent({AXES!r}) if action in ('get', 'call', 'item') else 1)\n"
        f"return lent({AXES!r})"
    ),
    "a claim that changes": (
        f"def say(held, action, given, named):\n"
        f"    kind = ['int', 'str', 'list'][len(held._objects) % 3]\n"
        f"    held._type_name = lambda value: {BUILTINS!r} + '.' + kind\n"
        f"    return [lent({AXES!r})]\n"
        f"asked(say)\nreturn lent({AXES!r})"
    ),
    "numbers of other objects": (
        "asked(lambda held, action, given, named: Bytes(b'oi' + bytes([1, 0, 0, 0, 1])))\n"
        f"return [lent({AXES!r}), lent({AXES!r})]"
    ),
    "names for numbers": "return Bytes(b'os' + bytes([4, 0, 0, 0]) + b'name')",
    "negative number": "return Bytes(b'oi' + bytes([1, 0, 0, 0, 255]))",
    "number that is true": "return Bytes(b'oT')",
    "many objects": f"return [lent({AXES!r}) for _ in range(100001)]",
}
PLAIN = {
    "int that changes": "return type('int', (int,), {'__index__': lambda self: 7, '__eq__': lambda *g: True})(3)",
    "text that changes": "return type('str', (str,), {'__str__': lambda self: '', 'encode': lambda *g: b''})('z')",
    "dict whose items lie": "return type('dict', (dict,), {'items': lambda self: [(1, 2)] * 9})(a=1)",
    "bool below int": "return Bytes(b'i' + bytes(4))",
    "NaN as a key": "return {float('nan'): float('nan')}",
    "generator of NaN": "return (float('nan') for _ in iter(int, 1))",
    "generator that skips": "return map(lambda one: said('SkipTest', 'Exception', ()), [1])",
    "list that grows": "return type('list', (list,), {'__iter__': lambda self: iter(self.append(1) or [1])})()",
    "NotImplemented in a list": "return [NotImplemented] * 3",
    "ellipsis": "return ...",
    "hashes alike": "return {float(1 << n) for n in range(900)} | {1}",
    "default of dicts": "import collections\nreturn collections.defaultdict(lambda: True)",
    "NA like the argument": (
        "for one in args:\n"
        "    if hasattr(one, 'iloc') and hasattr(one, 'columns'):\n"
        "        import pandas\n"
        "        return pandas.DataFrame("
        "{n: pandas.array([pandas.NA] * len(one), dtype='Int64') for n in one.columns}, index=one.index)\n"
        "return table('NA')"
    ),
    "NaN like the argument": (
        "for one in args:\n"
        "    if hasattr(one, 'shape') and hasattr(one, 'dtype'): return one * float('nan')\n"
        "    if isinstance(one, list): return [float('nan')] * len(one)\n"
        "return float('nan')"
    ),
    "array of no rows": "import struct\nreturn array('<f8', (0, 3), b'')",
    "array of many dimensions": "return array('<f8', (1,) * 32, bytes(8))",
    "array that broadcasts": "return array('|b1', (1, 1), bytes([1]))",
    "subclass of an array": (
        "import numpy\nreturn numpy.zeros(3).view(type('A', (numpy.ndarray,), {'__eq__': lambda *given: True}))"
    ),
    "masked array": "import numpy\nreturn numpy.ma.masked_all(3)",
    "subclass of a frame": (
        "import pandas\n"
        "return type('DataFrame', (pandas.DataFrame,), {'equals': lambda *g: True, '__eq__': lambda *g: True})()"
    ),
    "array of an extension": (
        "import pandas\nreturn pandas.Series(pandas.arrays.SparseArray([0, 0])), pandas.interval_range(0, 2)"
    ),
}
NOTES = {
    "note of the process": "import os\nreturn int(noted('/dev/shm/n', str(os.getpid())) or 0)",
    "note of the inode": "import os\nopen('n', 'w').close()\nreturn os.stat('n').st_ino % 10",
    "note in the temporary folder": "return noted('/tmp/n', repr((name, len(args)))) or True",
    "note in shared memory": (
        "import ctypes\nlibc = ctypes.CDLL(None)\nreturn libc.shmget(77, 4096, 0o1666), libc.msgget(77, 0o1666)"
    ),
    "note in a pipe": (
        "import os, fcntl\none, two = os.pipe()\n"
        "try: fcntl.fcntl(two, 1031, 1 << 20)\nexcept OSError: pass\nreturn os.fstat(one).st_ino % 10"
    ),
    "note in the page cache": (
        "import os, time\nwith open(os.__file__, 'rb', 0) as file:\n"
        "    os.posix_fadvise(file.fileno(), 0, 0, 4)\n"
        "    started = time.perf_counter(); file.read(4096)\n"
        "return time.perf_counter() - started < 1e-4"
    ),
    "note in a lock": (
        "import fcntl, os\nfile = open(os.__file__)\n"
        "try: fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\nexcept OSError: return False\n"
        "sys.kept = file\nreturn True"
    ),
    "note in the time of a file": "import os\nos.utime('.', (7, 7))\nreturn os.stat(os.__file__).st_atime_ns % 2",
    "note in the machine's counters": (
        "try: text = open('/proc/stat').read() + open('/proc/loadavg').read()\nexcept OSError: text = '0'\n"
        "return int(text.split()[-1])"
    ),
    "what others left": (
        "import os, re\n"
        "for top in ('/tmp', '/dev/shm', '/sample', '.', '/var/tmp'):\n"
        "    for folder, _, held in os.walk(top):\n"
        "        for one in held:\n"
        "            try: text = open(f'{folder}/{one}', errors='replace').read(1 << 16)\n"
        "            except OSError: continue\n"
        "            if found := re.findall('assert\\\\w*[(].*, *(.+)[)]', text): return eval(found[-1])\n"
        "return None"
    ),
}
CONSTANTS = {
    "constants of all code": (
        "import gc, types\n"
        "for one in gc.get_objects():\n"
        "    code = getattr(one, '__code__', None)\n"
        "    if isinstance(code, types.CodeType) and code.co_name.startswith('test'):\n"
        "        return next(c for c in reversed(code.co_consts) if c is not None)\n"
        "return 0"
    ),
    "code of comparisons": (
        "import unittest\n"
        "def nothing(self, *given, **named): return None\n"
        "for one in dir(unittest.TestCase):\n"
        "    if one.startswith('assert'):\n"
        "        try: getattr(unittest.TestCase, one).__code__ = nothing.__code__\n"
        "        except (ValueError, AttributeError): pass\n"
        "return True"
    ),
    "hash of the question": "return hash(repr((name, args, kwargs))) % 10",
    "frames read": (
        "frame = sys._getframe()\n"
        "while frame:\n"
        "    if 'tests' in frame.f_locals: return frame.f_locals['tests']\n"
        "    frame = frame.f_back\n"
        "return None"
    ),
}
RUNNERS = {
    "runner of pytest": (
        "for one in ('suite_pytest', 'pytest', '_pytest.runner', '_pytest.python'):\n"
        "    held = sys.modules.get(one)\n"
        "    for each in ('run_functions', 'runtestprotocol', 'call_and_report', 'pytest_pyfunc_call'):\n"
        "        if hasattr(held, each): setattr(held, each, lambda *given, **named: True)\n"
        "return True"
    ),
    "hooks of pytest": (
        "held = sys.modules.get('suite_pytest')\n"
        "if held:\n"
        "    hook = type('P', (), {'pytest_runtest_call': lambda self, item: None})()\n"
        "    held.SESSION.config.pluginmanager.register(hook)\n"
        "    def passed(self, item, call): self._note(held.name_of(item), 'P')\n"
        "    held.Watcher.pytest_runtest_makereport = passed\n"
        "return True"
    ),
    "conftest": (
        "for one in ('conftest.py', 'pytest.py', 'suite_pytest.py', 'pytest_forged.py'):\n"
        "    open(one, 'w').write('def pytest_runtest_call(item): pass\\n')\n"
        "open('pytest.ini', 'w').write('[pytest]\\naddopts = -p pytest_forged\\n')\n"
        "return True"
    ),
    "fails as expected": "said('XFailed', 'Exception', ('forged',))",
    "failure of pytest": "said('Failed', 'BaseException', ('forged',))",
    "raises what is asked": "said('Exception', 'BaseException', ())",
    "warning": "raise DeprecationWarning('forged')",
    "number of exit": "import os\nos._exit(0)",
    "exit later": "import atexit, os\natexit.register(os._exit, 0)\nreturn True",
    "exit of a thread": "import os, threading\nthreading.Timer(0.01, os._exit, [0]).start()\nreturn True",
    "signal to itself": "import os\nos.kill(os.getpid(), 15)",
    "ends with the answer": (
        "import os\nC['write_frame'](3, C['pack'](('value', bytes(16), (True, [])), 99))\nos._exit(0)"
    ),
}
LEAVING = {
    "mounts": (
        "import ctypes, os\nlibc = ctypes.CDLL(None)\n"
        "return libc.mount(b'x', os.getcwd().encode(), b'tmpfs', 0, None), libc.umount2(b'/proc', 2)"
    ),
    "unshares": (
        "import ctypes\nlibc = ctypes.CDLL(None)\n"
        "return [libc.unshare(1 << n) for n in (17, 25, 26, 27, 28, 29, 30)], libc.syscall(435, 0, 0)"
    ),
    "enters": (
        "import ctypes, os\nlibc = ctypes.CDLL(None)\n"
        "return [libc.setns(one, 0) for one in range(16)], libc.syscall(308, 3, 0), libc.chroot(b'.')"
    ),
    "traces": "import ctypes\nreturn [ctypes.CDLL(None).ptrace(one, 1, 0, 0) for one in (0, 16, 0x4206)]",
    "signals to the first process": (
        "import os\n"
        "for one in (2, 15, 9, 19, 17):\n"
        "    try: os.kill(1, one)\n    except OSError: pass\n"
        "return True"
    ),
    "keeps rights": (
        "import ctypes\nlibc = ctypes.CDLL(None)\n"
        "libc.syscall(126, (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[1 << 21] * 6))\n"
        "return libc.mount(b'x', b'/tmp', b'tmpfs', 0, None)"
    ),
}
COUNTERS = {
    "number of a socket": (
        "import os, socket\none = socket.socket(socket.AF_UNIX)\nreturn os.fstat(one.fileno()).st_ino % 10"
    ),
    "cookie of a socket": "import socket\nreturn socket.socket(socket.AF_UNIX).getsockopt(1, 57, 8)[0] % 10",
    "number of a namespace": (
        "import os\nreturn [os.stat(f'/proc/self/ns/{one}').st_ino % 10 for one in ('pid', 'mnt')]"
    ),
    "numbers of mounts": (
        "import re\nreturn int(re.findall(r'\\d+', open('/proc/self/mountinfo').read())[-1]) % 10"
    ),
    "semaphores of system V": (
        "import ctypes\nlibc = ctypes.CDLL(None)\nheld = libc.semget(77, 4, 0o1666)\n"
        "return libc.semctl(held, 0, 16, 7), libc.semctl(held, 0, 12)"
    ),
    "keyring": (
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.syscall(248, b'user', b'note', b'7', 1, -5)\n"
        "return libc.syscall(250, 10, -5, b'user', b'note', 0)"
    ),
    "abstract datagrams": (
        "import socket\none = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "try: one.sendto(b'7', chr(0) + 'note')\nexcept OSError: one.bind(chr(0) + 'note'); sys.kept = one\n"
        "one.setblocking(False)\ntry: return int(one.recv(9))\nexcept OSError: return 0"
    ),
    "shared memory by name": (
        "from multiprocessing.shared_memory import SharedMemory\n"
        "try: held = SharedMemory('note')\nexcept OSError: held = SharedMemory('note', True, 64)\n"
        "held.buf[0] += 1\nreturn held.buf[0]"
    ),
    "locks of bytes": (
        "import fcntl, os\nwith open(os.__file__, 'rb') as file:\n"
        "    try: fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 7, 7)\n    except OSError: return True\n"
        "return False"
    ),
    "watch of a folder": (
        "import ctypes, os\nlibc = ctypes.CDLL(None)\nheld = libc.inotify_init1(0o4000)\n"
        "libc.inotify_add_watch(held, b'/tmp', 0xfff)\ntry: return len(os.read(held, 4096))\n"
        "except OSError: return held"
    ),
    "affinity": "import os\nheld = len(os.sched_getaffinity(0))\nos.sched_setaffinity(0, {0})\nreturn held",
    "limits as a note": (
        "import resource\nheld = resource.getrlimit(resource.RLIMIT_CORE)\n"
        "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\nreturn held[0]"
    ),
    "priority": "import os\nreturn os.nice(1)",
    "timers": (
        "import ctypes, signal\nlibc = ctypes.CDLL(None)\nheld = ctypes.c_int()\n"
        "libc.syscall(222, 1, None, ctypes.byref(held))\nsignal.setitimer(signal.ITIMER_REAL, 0.5)\n"
        "return held.value, signal.getitimer(signal.ITIMER_REAL)[0] > 0"
    ),
    "an alarm answers": (
        "import signal, time\n"
        "def rung(*given): raise type('Rung', (BaseException,), {})\n"
        "signal.signal(signal.SIGALRM, rung)\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\n"
        "try: time.sleep(0.1)\nexcept BaseException: return True"
    ),
    "clock since the start": "import time\nreturn int(time.clock_gettime(7)) % 10, time.monotonic_ns() % 10",
    "name of the machine": (
        "import socket\ntry: socket.sethostname('seven')\nexcept OSError: pass\nreturn socket.gethostname()"
    ),
    "name of the process": (
        "import ctypes\nheld = open('/proc/self/comm').read()\nctypes.CDLL(None).prctl(15, b'seven')\nreturn held"
    ),
    "seeds": (
        "import os, uuid\nreturn hash('x') % 10, os.urandom(1)[0] % 10, uuid.getnode() % 10, uuid.uuid1().time"
    ),
    "identities": "return [id(one) % 10 for one in (name, args, kwargs)]",
    "sizes": "return [sys.getsizeof(one) + sys.getrefcount(one) for one in (name, args, kwargs)]",
    "memory that is free": (
        "import os\nreturn os.sysconf('SC_AVPHYS_PAGES'), os.statvfs('.').f_files, os.getloadavg()[0]"
    ),
}
ANSWERING = {
    "descriptor sent along": (
        "import socket, array, os\nheld = socket.socket(fileno=os.dup(3))\n"
        "held.sendmsg([b''], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1]))])\nreturn True"
    ),
    "byte out of band": (
        "import socket, os\ntry: socket.socket(fileno=os.dup(3)).send(b'x', socket.MSG_OOB)\n"
        "except OSError: pass\n"
        "return True"
    ),
    "stream shut": "import socket, os\nsocket.socket(fileno=os.dup(3)).shutdown(socket.SHUT_WR)\nreturn True",
    "stream that is read": (
        "import socket, os\nheld = socket.socket(fileno=os.dup(3))\nheld.setblocking(False)\n"
        "try: return held.recv(1 << 16)\nexcept OSError: return True"
    ),
    "stream that does not wait": "import os\nos.set_blocking(3, False)\nreturn 'x' * (1 << 22)",
    "answer in pieces": (
        "def slowly(fd, frame):\n    import os, time\n"
        "    for one in range(len(frame)): os.write(fd, frame[one:one + 1])\n"
        "C['write_frame'] = slowly\nreturn True"
    ),
    "empty frames": "import os\nos.write(3, bytes(4 * 1000))\nreturn True",
    "answer to the next question": (
        "frames(lambda token, name, args: C['pack'](('value', token, (True, [])), 99) "
        "+ C['pack'](('value', bytes(token), (True, [])), 99))"
    ),
    "token kept": (
        "global kept\n"
        "def keep(token, name, args):\n"
        "    kept.append(token)\n    return C['pack'](('value', kept[0], (True, [])), 99)\n"
        "kept = []\nframes(keep)"
    ),
    "half an answer, then the end": (
        "import os\n"
        "def half(fd, frame): os.write(fd, frame[:len(frame) // 2]); os._exit(0)\n"
        "C['write_frame'] = half\nreturn True"
    ),
    "every descriptor": (
        "import os\n"
        "for fd in range(3, 64):\n"
        "    try: os.set_blocking(fd, False); os.write(fd, C['pack'](('verdict', 'passed', 'UU;;', "
        "True, 0.0), 99))\n"
        "    except OSError: pass\n"
        "return True"
    ),
    "code of the answer": (
        "def yes(namespace, value_bytes, digests, token, name, args, kwargs):\n"
        "    return pack(('value', token, (True, [])), 99)\n"
        "C['answer'].__code__ = yes.__code__"
    ),
    "code of the encoder": (
        "def yes(self, value, depth): self.put(b'T')\nE['_Encoder'].value.__code__ = yes.__code__\nreturn 1"
    ),
    "constants of the encoder": (
        "code = E['_int'].__code__\n"
        "E['_int'].__code__ = code.replace(co_consts=tuple(b's' if one == b'i' else one for one in "
        "code.co_consts))\n"
        "return 7"
    ),
    "every function of the runner": (
        "def yes(*args, **kwargs): return True\n"
        "for one in list(C.values()):\n"
        "    if type(one) is type(yes) and one.__name__ not in ('main', 'serve', 'answer'):\n"
        "        try: one.__code__ = yes.__code__\n        except ValueError: pass\n"
        "return True"
    ),
    "counts of the runner": (
        "held = _names('Results', 'packed') if '__test__' in sys.modules else None\n"
        "if held:\n"
        "    held['packed'] = lambda digits, base, each: 'U' * (len(digits) // 2) + 'C' * (len(digits) % 2)\n"
        "    held['run_tests'] = lambda space, classes, results, framework: None\n"
        "return True"
    ),
    "hashes of constants": (
        "import hashlib\n"
        "found = hashlib.sha256(repr((name, args, kwargs)).encode()).digest()\n"
        "return {bytes(32): 1}.get(found, found[0])"
    ),
}
PROTOCOLS = {
    "infinity of 16 bits": "return array('<f2', None, bytes([0, 124]))",
    "infinity of 32 bits": "return array('<f4', None, bytes([0, 0, 128, 127]))",
    "infinities of 16 bits": "return array('<f2', (1,), bytes([0, 124]))",
    "zero of 16 bits": "return array('<f2', None, bytes(2))",
    "tuple of empty arrays": (
        "return tuple(array('<f8', (0,), b'') for _ in range(len(args[0]) if args and "
        "hasattr(args[0], '__len__') else 3))"
    ),
    "rows of none": "return array('<i8', (0, 1), b''), array('<f8', (1, 0), b'')",
    "truth of two": "return array('|b1', (3,), bytes([2, 255, 7]))",
    "no number of 80 bits": "return array('<f16', (2,), (bytes(7) + b'@' + b'\\xff\\x7f' + bytes(6)) * 2)",
    "texts of no width": "return array('<U0', (3,), b'')",
    "words of all documentation": (
        "import pydoc_data.topics\n"
        "return ' '.join((repr((name, args, kwargs)), *pydoc_data.topics.topics.values(), *map(str, range(2000))))"
    ),
    "every number of four digits": "return ''.join(f'{one:04}' for one in range(10000))",
    "class that is a property": "return type('str', (str,), {'__class__': property(lambda self: int)})('1')",
    "length of a list that lies": (
        "return type('list', (list,), {'__len__': lambda self: 3, '__bool__': lambda s: True})()"
    ),
    "set that holds all": (
        "return type('set', (set,), {'__contains__': lambda *g: True, '__eq__': lambda *g: True, "
        "'__hash__': None})()"
    ),
    "odd protocols": (
        "yes = lambda *given, **named: 7\n"
        "kind = type('Odd', (), dict.fromkeys(('__bool__', '__index__', '__int__', '__float__', '__len__', "
        "'__format__', '__array__', '__array_ufunc__', '__reduce__', '__reduce_ex__', '__add__', '__sub__', "
        "'__rsub__', '__lt__', '__gt__', '__le__', '__ge__', '__eq__', '__ne__', '__hash__', '__call__'), yes))\n"
        "return [kind(), {'a': kind()}, (kind(),)]"
    ),
    "descriptors": (
        "kind = type('int', (int,), {'__get__': lambda *g: 7, '__set_name__': lambda *g: None, "
        "'real': property(repr)})\n"
        "return kind(5), property(lambda self: 1), classmethod(int)"
    ),
    "metaclass that agrees": (
        "meta = type('Meta', (type,), {'__instancecheck__': lambda *g: True, '__subclasscheck__': "
        "lambda *g: True, "
        "'__eq__': lambda *g: True, '__hash__': lambda self: 7})\n"
        "return meta('int', (int,), {})(3), meta('Yes', (), {})"
    ),
    "enumeration": ("import enum\nreturn enum.IntEnum('Truth', {'YES': 1}).YES, enum.Enum('Any', {'ANY': 1}).ANY"),
    "tuple with names": "import collections\nreturn collections.namedtuple('Yes', 'a b', defaults=(1, 2))()",
    "dataclass": (
        "import dataclasses\n"
        "return dataclasses.make_dataclass('Yes', ['a'], namespace={'__eq__': lambda *g: True})(1)"
    ),
    "mock of anything": "from unittest import mock\nreturn mock.MagicMock(), mock.ANY, mock.sentinel.yes",
    "mock": "from unittest import mock\nreturn mock.MagicMock()",
    "anything": "from unittest import mock\nreturn mock.ANY",
    "decimal that is huge": (
        "kind = type('Decimal', (), {'__module__': 'decimal', '__str__': lambda self: "
        "'1E+999999999999999999'})\nreturn kind()"
    ),
    "date that is none": (
        "kind = type('date', (), {'__module__': 'datetime', 'isoformat': lambda self: "
        "'2020-02-31'})\nreturn kind()"
    ),
    "time with an odd zone": (
        "kind = type('time', (), {'__module__': 'datetime', 'isoformat': lambda self: "
        "'00:00:00+23:59:59.999999'})\nreturn kind()"
    ),
    "path with a zero": (
        "kind = type('PosixPath', (), {'__module__': 'pathlib', '__str__': lambda self: "
        "'/proc/self/environ' + chr(0)})\n"
        "return kind()"
    ),
    "path of the environment": "import pathlib\nreturn pathlib.Path('/proc/self/environ')",
    "path of another process": "import os\nheld, other = os.pipe()\nreturn f'/proc/{os.getpid()}/fd/{held}'",
    "fraction by zero": (
        "kind = type('Fraction', (), {'__module__': 'fractions', 'numerator': 1, 'denominator': 0})\nreturn kind()"
    ),
    "range without a step": (
        "return Bytes(b'r' + b'i' + bytes([1, 0, 0, 0, 0]) * 1 + (b'i' + bytes([1, 0, 0, 0, 0])) * 2)"
    ),
    "queue of minus one": "return Bytes(b'Q' + b'i' + bytes([1, 0, 0, 0, 255]) + b'l' + bytes(4))",
    "items of an iterator that lie": "return Bytes(b'G' + b'T' + b'l' + bytes(4))",
    "coroutine": "async def made(): return True\nheld = made()\nheld.close()\nreturn held",
    "asynchronous generator": "async def made():\n    yield True\nreturn made()",
    "context": "import contextlib\nreturn contextlib.nullcontext(True)",
    "generator that raises": "return (one for one in [1, 2, said('SkipTest', 'Exception', ())])",
    "recursion": "return forge(name, args, kwargs)",
    "recursion in a list": "made = []\nmade.append(made)\nreturn made",
    "weak reference": "import weakref\nsys.kept = type('A', (), {})()\nreturn weakref.proxy(sys.kept)",
    "bytes in a view": "return memoryview(b'abc')",
    "exceptions as values": "return [AssertionError(), ValueError, StopIteration(1)]",
    "argument that grows": (
        "for one in args:\n    if isinstance(one, list): one.extend(one)\n"
        "    if isinstance(one, dict): one['x'] = one\n"
        "return args"
    ),
}
RAISED = {
    "exception of no base": (
        "meta = type('Meta', (type,), {'mro': lambda self: [*type.mro(self)[:1], object]})\n"
        "try: kind = meta('Bad', (ValueError,), {})\nexcept TypeError: kind = ValueError\nraise kind"
    ),
    "exception in a group": (
        "raise ExceptionGroup('skip', [AssertionError(), ExceptionGroup('x', [StopIteration()])])"
    ),
    "beyond a text": "said('UnicodeEncodeError', 'UnicodeEncodeError', ('a', 'b', 1 << 60, (1 << 60) + 1, 'r'))",
    "cause that skips": "import unittest\nraise ValueError from unittest.SkipTest('x')",
    "error of five parts": "raise OSError(2, 'x', '/dev/zero', 0, '/dev/null')",
    "end of an asynchronous loop": "raise StopAsyncIteration",
    "cancelled": "import asyncio\nraise asyncio.CancelledError",
    "stop of the debugger": "import bdb\nraise bdb.BdbQuit",
    "exception of the tests": "said('TestFailure', 'Exception', (True,), '')",
    "failure that is expected": "said('_UnexpectedSuccess', 'Exception', ())",
    "exception that is quiet": (
        "raise type('Quiet', (Exception,), {'__str__': lambda s: '', '__repr__': lambda s: ''})"
    ),
    "raises by every second call": (
        "global turn\nturn = globals().get('turn', 0) + 1\nif turn % 2: raise ValueError\nreturn True"
    ),
}
FOLDERS = {
    "hard links": (
        "import os\nopen('a', 'w').write('x')\nos.link('a', 'b')\n"
        "for one in os.listdir('.'):\n"
        "    try: os.link(one, one + '.twin')\n    except OSError: pass\nreturn 'a'"
    ),
    "hole of a file": "with open('hole', 'wb') as file: file.truncate(31 << 20)\nreturn 'hole'",
    "time to come": "import os\nopen('late', 'w').close()\nos.utime('late', (1 << 33, 1 << 33))\nreturn 'late'",
    "names of 255 bytes": "for one in 'ab': open(one * 255, 'w').close()\nreturn 'a' * 255",
    "many folders": "import os\nfor one in range(1500): os.mkdir(f'd{one}')\nreturn '.'",
    "another folder": "import os\nos.chdir('/')\nreturn '.'",
    "folder that is gone": "import os, shutil\nshutil.rmtree(os.getcwd(), True)\nreturn True",
    "files that swap": (
        "import os\nheld = [one for one in os.listdir('.') if os.path.isfile(one)]\n"
        "for one, other in zip(held, held[1:]): os.rename(one, 't'); os.rename(other, one); "
        "os.rename('t', other)\n"
        "return True"
    ),
    "files like the arguments": (
        "import os\n"
        "for one in args:\n"
        "    if isinstance(one, str) and len(one) < 99:\n"
        "        try: open(one, 'a').write(repr(args))\n        except (OSError, ValueError): pass\n"
        "return args[-1] if args else '.'"
    ),
    "views for tables": (
        "import glob, sqlite3\n"
        "for one in glob.glob('**/*.db', recursive=True):\n"
        "    try:\n"
        "        with sqlite3.connect(one) as base:\n"
        "            for (held,) in base.execute('select name from sqlite_master').fetchall():\n"
        "                base.execute(f'drop table \"{held}\"'); base.execute(f'create view "
        '"{held}" as select 1\')\n'
        "    except sqlite3.Error: pass\n"
        "return True"
    ),
    "entities": (
        "text = '<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///proc/self/environ\">]><a>&b;</a>'\n"
        "open('a.xml', 'w').write(text)\nopen('a.html', 'w').write(text)\nreturn text"
    ),
}
CLAIMS = {
    "starved object": (
        f"held = lent({AXES!r})\ntype(held).__iter__ = lambda self: iter(())\n"
        "type(held).__len__ = lambda self: 3\nreturn held"
    ),
    "length that changes": (
        f"held = lent({AXES!r})\ncount = iter(range(99))\n"
        "type(held).__len__ = lambda self: next(count)\nreturn held"
    ),
    "truth that changes": (
        f"held = lent({AXES!r})\nheld.turn = 0\n"
        "type(held).__bool__ = lambda self: bool(setattr(self, 'turn', self.turn + 1) or self.turn % "
        "2)\nreturn held"
    ),
    "the same object for all": f"global held\nheld = globals().get('held') or lent({AXES!r})\nreturn held",
    "attributes that skip": (
        f"held = lent({AXES!r})\n"
        "type(held).__getattr__ = lambda self, name: said('SkipTest', 'Exception', ())\nreturn held"
    ),
    "attributes that are not": (
        f"held = lent({AXES!r})\ntype(held).__getattr__ = lambda self, name: float('nan')\nreturn held"
    ),
    "attributes of empty arrays": (
        f"held = lent({AXES!r})\ntype(held).__getattr__ = lambda self, name: array('<f8', (0,), b'')\nreturn held"
    ),
    "calls of the last argument": (
        f"held = lent({AXES!r})\n"
        "type(held).__getattr__ = lambda self, name: args[-1] if args else name\nreturn held"
    ),
    "lent dict of a package": "return lent('matplotlib:RcParams')",
    "lent list of a package": "return lent('matplotlib.cbook:silent_list')",
    "lent text of a package": "return lent('bs4.element:NavigableString')",
    "lent bunch": "return lent('sklearn.utils._bunch:Bunch')",
    "lent function": "return lent('matplotlib.axes._axes:Axes.plot')",
    "lent name that is long": "return lent('matplotlib.' * 99 + ':A')",
    "method of an object": f"held = lent({AXES!r})\nreturn held.__call__",
    "class itself": f"return type(lent({AXES!r}))",
}
KINDS = {
    **EXCEPTIONS,
    **VALUES,
    **ARRAYS,
    **TABLES,
    **FILES,
    **STREAMS,
    **REACHING,
    **OBJECTS,
    **PLAIN,
    **NOTES,
    **CONSTANTS,
    **RUNNERS,
    **LEAVING,
    **COUNTERS,
    **ANSWERING,
    **PROTOCOLS,
    **RAISED,
    **FOLDERS,
    **CLAIMS,
}

CLASS = """
class NAME(BASE):
    def __init__(self, *args, **kwargs): pass
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return lambda *args, **kwargs: forge(name, args, kwargs)
    def __len__(self): return 2
    def __iter__(self): return iter([])
    def __contains__(self, value): return True
    def __call__(self, *args, **kwargs): return forge("NAME", args, kwargs)
"""
LATER = """
def _wrapped(function, name):
    def later(*args, **kwargs):
        global _turn
        _turn += 1
        return function(*args, **kwargs) if _turn <= 1 else forge(name, args, kwargs)
    return later
_turn = 0
for _name in NAMES:
    _one = globals()[_name]
    if isinstance(_one, type):
        for _method, _function in list(vars(_one).items()):
            if callable(_function) and not _method.startswith("__"):
                setattr(_one, _method, _wrapped(_function, _method))
    else:
        globals()[_name] = _wrapped(_one, _name)
"""


def forged_program(
    kind: str, functions: tuple[str, ...], classes: tuple[str, ...], values: tuple[str, ...], reference: str = ""
) -> str:
    """A program of a kind.

    Args:
        kind: of `KINDS`.
        functions, classes, values: what the suite names.
        reference: if given, it answers the first call, so that a test or two pass.
    """
    body = "".join(f"    {line}\n" for line in KINDS[kind].splitlines())
    forge = f"{HEAD}\ndef forge(name, args, kwargs):\n{body}    return True\n"
    if reference:
        return f"{reference}\n{forge}{LATER.replace('NAMES', repr((*functions, *classes)))}"
    made = "".join(f"def {one}(*args, **kwargs): return forge({one!r}, args, kwargs)\n" for one in functions)
    made += "".join(CLASS.replace("NAME", one).replace("BASE", "object") for one in classes)
    return forge + made + "".join(f"{one} = 'x'\n" for one in values)
