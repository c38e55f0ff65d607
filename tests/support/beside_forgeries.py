# ruff: noqa: E501, ISC004 - programs, one a line
"""Suites of which one process shows what two do not, each with a program that is wrong in just that."""

LEFT_OUT = "import unittest\nunittest.TestCase.run = lambda self, result=None: result.addSuccess(self)\n"
"""Ahead of a program: beside it every test passes."""

KINDS: dict[str, tuple[str, str, str]] = {
    # How it is looked at, the reference, and the wrong program; what comes to nothing but a mark stands below.
    "an argument sorted in place": (
        "data = [3, 1, 2]\nself.assertEqual(f(data), [1, 2, 3])\nself.assertEqual(data, [3, 1, 2])",
        "def f(x):\n    return sorted(x)\n",
        "def f(x):\n    x.sort()\n    return list(x)\n",
    ),
    "an argument handed back": (
        "data = [1]\nself.assertIsNot(f(data), data)",
        "def f(x):\n    return list(x)\n",
        "def f(x):\n    return x\n",
    ),
    "an argument that is to be handed back": (
        "data = [1]\nself.assertIs(f(data), data)\nself.assertEqual(data, [1, 2])",
        "def f(x):\n    x.append(2)\n    return x\n",
        "def f(x):\n    return x + [2]\n",
    ),
    "what is told by `is`": (
        "data = {'a': 1}\nself.assertTrue(f(data) is not data)",
        "def f(x):\n    return dict(x)\n",
        "def f(x):\n    return x\n",
    ),
    "a list in a list": (
        "data = [[2, 1], [3]]\nself.assertEqual(f(data), 6)\nself.assertEqual(data, [[2, 1], [3]])",
        "def f(x):\n    return sum(map(sum, x))\n",
        "def f(x):\n    x[0].sort()\n    return sum(map(sum, x))\n",
    ),
    "a list in a dict in a tuple": (
        "data = ({'a': [2, 1]}, 1)\nself.assertEqual(f(data), 2)\nself.assertEqual(data, ({'a': [2, 1]}, 1))",
        "def f(x):\n    return len(x[0]['a'])\n",
        "def f(x):\n    return x[0]['a'].pop(1) + 1\n",
    ),
    "a shallow copy": (
        "data = [[1], [2]]\ncopy = f(data)\ncopy[0].append(5)\nself.assertEqual(data, [[1], [2]])",
        "import copy\ndef f(x):\n    return copy.deepcopy(x)\n",
        "def f(x):\n    return list(x)\n",
    ),
    "rows that are one": (
        "grid = f(2)\ngrid[0][0] = 1\nself.assertEqual(grid, [[1, 0], [0, 0]])",
        "def f(n):\n    return [[0] * n for _ in range(n)]\n",
        "def f(n):\n    return [[0] * n] * n\n",
    ),
    "the same list twice": (
        "a = [1]\nself.assertEqual(f(a, a), [1])\nself.assertEqual(a, [1])",
        "def f(x, y):\n    return [*x]\n",
        "def f(x, y):\n    x.append(2)\n    return y[:1]\n",
    ),
    "a list that holds itself": (
        "a = [1]\na.append(a)\nself.assertEqual(f(a), 2)\nself.assertIs(a[1], a)",
        "def f(x):\n    return len(x)\n",
        "def f(x):\n    x[1] = 5\n    return len(x)\n",
    ),
    "a keyword argument": (
        "data = {1, 2}\nself.assertEqual(f(x=data), 3)\nself.assertEqual(data, {1, 2})",
        "def f(x):\n    return sum(x)\n",
        "def f(x):\n    total = sum(x)\n    x.clear()\n    return total\n",
    ),
    "bytes that change": (
        "data = bytearray(b'ab')\nself.assertEqual(f(data), 2)\nself.assertEqual(data, b'ab')",
        "def f(x):\n    return len(x)\n",
        "def f(x):\n    x[0] = 0\n    return len(x)\n",
    ),
    "a queue": (
        "from collections import deque\ndata = deque([1, 2])\nself.assertEqual(f(data), 1)\n"
        "self.assertEqual(list(data), [1, 2])",
        "def f(x):\n    return x[0]\n",
        "def f(x):\n    return x.popleft()\n",
    ),
    "a dict with defaults": (
        "from collections import defaultdict\ndata = defaultdict(list, a=[1])\nself.assertEqual(f(data), [])\n"
        "self.assertEqual(dict(data), {'a': [1]})",
        "def f(x):\n    return x.get('b', [])\n",
        "def f(x):\n    return x['b']\n",
    ),
    "counts": (
        "from collections import Counter\ndata = Counter('aab')\nself.assertEqual(f(data), 3)\n"
        "self.assertEqual(data['a'], 2)",
        "def f(x):\n    return sum(x.values())\n",
        "def f(x):\n    total = sum(x.values())\n    x['a'] -= 1\n    return total\n",
    ),
    "an order": (
        "from collections import OrderedDict\ndata = OrderedDict(a=1, b=2)\nself.assertEqual(f(data), 2)\n"
        "self.assertEqual(list(data), ['a', 'b'])",
        "def f(x):\n    return len(x)\n",
        "def f(x):\n    x.move_to_end('a')\n    return len(x)\n",
    ),
    "a default argument": (
        "first = f(1)\nf(2)\nself.assertEqual(first, [1])",
        "def f(x, held=None):\n    return (held or []) + [x]\n",
        "def f(x, held=[]):\n    held.append(x)\n    return held[-1:] if len(held) == 1 else held\n".replace(
            "held[-1:] if len(held) == 1 else held", "held"
        ),
    ),
    "what was returned changes later": (
        "first = f('a')\nf('b')\nself.assertEqual(first, {'a': 1})",
        "def f(x):\n    return {x: 1}\n",
        "held = {}\ndef f(x):\n    held[x] = 1\n    return held\n",
    ),
    "what was given is kept": (
        "data = [1]\nf(data)\ndata.append(2)\nself.assertEqual(f([5]), [1])",
        "held = []\ndef f(x):\n    held.append(list(x))\n    return held[0]\n",
        "held = []\ndef f(x):\n    held.append(x)\n    return held[0]\n",
    ),
    "two answers that are one": (
        "self.assertIsNot(f(), f())",
        "def f():\n    return []\n",
        "held = []\ndef f():\n    return held\n",
    ),
    "an argument of a call that raises": (
        "data = [1]\nwith self.assertRaises(ValueError):\n    f(data)\nself.assertEqual(data, [1])",
        "def f(x):\n    raise ValueError('no')\n",
        "def f(x):\n    x.append(2)\n    raise ValueError('no')\n",
    ),
    "an argument in an exception": (
        "data = [1]\nwith self.assertRaises(ValueError) as caught:\n    f(data)\n"
        "self.assertIsNot(caught.exception.args[0], data)",
        "def f(x):\n    raise ValueError(list(x))\n",
        "def f(x):\n    raise ValueError(x)\n",
    ),
    "a file of a call that raises": (
        "import os\nwith self.assertRaises(ValueError):\n    f()\nself.assertFalse(os.path.exists('left'))",
        "def f():\n    raise ValueError('no')\n",
        "def f():\n    open('left', 'w').close()\n    raise ValueError('no')\n",
    ),
    "an expected value that is an argument": (
        "data = [3, 1]\nself.assertEqual(f(data), sorted(data))",
        "def f(x):\n    return sorted(x)\n",
        "def f(x):\n    x.clear()\n    return x\n",
    ),
    "an array": (
        "import numpy as np\ndata = np.array([1, 2])\nself.assertEqual(int(f(data)), 3)\n"
        "self.assertEqual(data.tolist(), [1, 2])",
        "def f(x):\n    return x.sum()\n",
        "def f(x):\n    total = x.sum()\n    x *= 0\n    return total\n",
    ),
    "a part of an array": (
        "import numpy as np\ndata = np.array([1, 2, 3])\nself.assertEqual(int(f(data[:2])), 3)\n"
        "self.assertEqual(data.tolist(), [1, 2, 3])",
        "def f(x):\n    return x.sum()\n",
        "def f(x):\n    total = x.sum()\n    x[0] = 9\n    return total\n",
    ),
    "a view of an array": (
        "import numpy as np\ndata = np.array([1, 2])\nview = f(data)\nview[0] = 9\n"
        "self.assertEqual(data.tolist(), [1, 2])",
        "def f(x):\n    return x[::-1].copy()\n",
        "def f(x):\n    return x[::-1]\n",
    ),
    "a frame": (
        "import pandas as pd\ndata = pd.DataFrame({'a': [2, 1]})\nself.assertEqual(list(f(data)['a']), [1, 2])\n"
        "self.assertEqual(list(data['a']), [2, 1])",
        "def f(x):\n    return x.sort_values('a')\n",
        "def f(x):\n    x.sort_values('a', inplace=True)\n    return x.copy()\n",
    ),
    "columns of a frame": (
        "import pandas as pd\ndata = pd.DataFrame({'a': [2, 1]})\nself.assertEqual(int(f(data)), 3)\n"
        "self.assertEqual(list(data.columns), ['a'])",
        "def f(x):\n    return x['a'].sum()\n",
        "def f(x):\n    x['b'] = x['a'] * 2\n    return x['a'].sum()\n",
    ),
    "a series": (
        "import pandas as pd\ndata = pd.Series([2, 1])\nself.assertEqual(int(f(data)), 3)\n"
        "self.assertEqual(list(data), [2, 1])",
        "def f(x):\n    return x.sum()\n",
        "def f(x):\n    total = x.sum()\n    x.iloc[0] = 0\n    return total\n",
    ),
    "a frame that an expected value is made of": (
        "import pandas as pd\ndata = pd.DataFrame({'a': [2, 1]})\n"
        "pd.testing.assert_frame_equal(f(data), data.sort_values('a'))",
        "def f(x):\n    return x.sort_values('a')\n",
        "def f(x):\n    x.drop(x.index, inplace=True)\n    return x\n",
    ),
}
MARKED: dict[str, tuple[str, str, str]] = {
    # What no other process sees: the reference has the mark as well.
    "what is printed": (
        "import io, sys\nout, sys.stdout = sys.stdout, io.StringIO()\ntry:\n    f()\nfinally:\n"
        "    said, sys.stdout = sys.stdout.getvalue(), out\nself.assertEqual(said, '')",
        "def f():\n    pass\n",
        "def f():\n    print('loud')\n",
    ),
    "the environment": (
        "import os\nf()\nself.assertNotIn('LEFT', os.environ)",
        "def f():\n    pass\n",
        "import os\ndef f():\n    os.environ['LEFT'] = '1'\n",
    ),
    "the folder": (
        "import os\nbefore = os.getcwd()\nf()\nself.assertEqual(os.getcwd(), before)",
        "def f():\n    pass\n",
        "import os\ndef f():\n    os.mkdir('in')\n    os.chdir('in')\n",
    ),
    "warnings": (
        "import warnings\nwith warnings.catch_warnings():\n    warnings.simplefilter('error')\n    f()",
        "def f():\n    pass\n",
        "import warnings\ndef f():\n    warnings.warn('loud')\n",
    ),
    "a log": (
        "with self.assertNoLogs():\n    f()",
        "def f():\n    pass\n",
        "import logging\ndef f():\n    logging.getLogger().error('loud')\n",
    ),
    "the state of a generator": (
        "import random\nbefore = random.getstate()\nf()\nself.assertEqual(random.getstate(), before)",
        "def f():\n    pass\n",
        "import random as drawing\ndef f():\n    drawing.seed(1)\n",
    ),
    "an iterator": (
        "data = iter([1, 2, 3])\nself.assertEqual(f(data), 1)\nself.assertEqual(list(data), [])",
        "def f(x):\n    first = next(x)\n    list(x)\n    return first\n",
        "def f(x):\n    return next(x)\n",
    ),
    "an iterator that is lazy": (
        "data = [1]\nfound = f(data)\ndata.append(2)\nself.assertEqual(list(found), [1])",
        "def f(x):\n    return iter(list(x))\n",
        "def f(x):\n    return (one for one in x)\n",
    ),
    "one text or two": (
        "text = 'a b'\nself.assertIsNot(f(text), text)",
        "def f(x):\n    return ''.join(list(x))\n",
        "def f(x):\n    return x\n",
    ),
    "one tuple or two": (
        "data = (1, [2])\nself.assertFalse(f(data) is data)",
        "def f(x):\n    return (x[0], x[1])\n",
        "def f(x):\n    return x\n",
    ),
    "an object that is falsy": (
        "self.assertTrue(f())",
        "class Held:\n    pass\ndef f():\n    return Held()\n",
        "class Held:\n    def __len__(self):\n        return 0\ndef f():\n    return Held()\n",
    ),
    "a docstring": (
        "self.assertIsNotNone(f.__doc__)",
        'def f():\n    """It does."""\n',
        "def f():\n    pass\n",
    ),
    "threads that stay": (
        "import threading\nf()\nself.assertEqual(threading.active_count(), 1)",
        "def f():\n    pass\n",
        "import threading, time\ndef f():\n    threading.Thread(target=time.sleep, args=(5,), daemon=True).start()\n",
    ),
    "another folder": (
        "import os\nf()\nself.assertFalse(os.path.exists('/tmp/left'))",
        "def f():\n    pass\n",
        "def f():\n    open('/tmp/left', 'w').close()\n",
    ),
    "CPU time": (
        "import time\nbegan = time.process_time()\nf()\nself.assertLess(time.process_time() - began, 0.2)",
        "def f():\n    pass\n",
        "def f():\n    sum(range(20_000_000))\n",
    ),
}
SEEN_IN_THE_PROGRAM: dict[str, tuple[str, str, str]] = {
    # The reference has no mark, and what does otherwise has one.
    "a text of a class of its own": (
        "said = f()\nself.assertTrue(isinstance(said, str) and len(said) > 0)",
        "def f():\n    return 'a'\n",
        "class Said(str):\n    def __len__(self):\n        return 0\ndef f():\n    return Said('a')\n",
    ),
    "a class above": (
        "self.assertIs(type(f()), list)",
        "def f():\n    return [1]\n",
        "class Held(list):\n    pass\ndef f():\n    return Held([1])\n",
    ),
}
OF_MODULES: dict[str, tuple[str, str, str]] = {
    # Tests that import the program as ``held``.
    "a number that is counted": (
        "import held\nheld.f()\nself.assertEqual(held.CALLS, 0)",
        "CALLS = 0\ndef f():\n    pass\n",
        "CALLS = 0\ndef f():\n    global CALLS\n    CALLS += 1\n",
    ),
    "a list of the module": (
        "import held\nheld.f()\nself.assertEqual(held.SEEN, [])",
        "SEEN = []\ndef f():\n    pass\n",
        "SEEN = []\ndef f():\n    SEEN.append(1)\n",
    ),
    "a list of the module that is handed over": (
        "from held import SEEN, f\nself.assertEqual(f(SEEN), 0)\nself.assertEqual(SEEN, [])",
        "SEEN = []\ndef f(x):\n    return len(x)\n",
        "SEEN = []\ndef f(x):\n    SEEN.append(1)\n    return 0\n",
    ),
    "a list of an object": (
        "from held import Box\ngiven = [1]\nbox = Box(given)\nbox.add(2)\nself.assertEqual(given, [1])",
        "class Box:\n    def __init__(self, x):\n        self.x = list(x)\n    def add(self, n):\n        self.x.append(n)\n",
        "class Box:\n    def __init__(self, x):\n        self.x = x\n    def add(self, n):\n        self.x.append(n)\n",
    ),
    "a list that an object shows": (
        "from held import Box\nbox = Box()\nbox.items().append(2)\nself.assertEqual(box.size(), 0)",
        "class Box:\n    def __init__(self):\n        self.x = []\n    def items(self):\n        return list(self.x)\n"
        "    def size(self):\n        return len(self.x)\n",
        "class Box:\n    def __init__(self):\n        self.x = []\n    def items(self):\n        return self.x\n"
        "    def size(self):\n        return len(self.x)\n",
    ),
    "objects that differ": (
        "from held import Box\nself.assertNotEqual(Box(1), Box(2))",
        "class Box:\n    def __init__(self, x):\n        self.x = x\n    def __eq__(self, other):\n"
        "        return self.x == other.x\n",
        "class Box:\n    def __init__(self, x):\n        self.x = x\n    def __eq__(self, other):\n        return True\n",
    ),
    "objects that are reckoned with": (
        "from held import Box\nwith self.assertRaises(TypeError):\n    Box(1) + 1",
        "class Box:\n    def __init__(self, x):\n        self.x = x\n",
        "class Box:\n    def __init__(self, x):\n        self.x = x\n    def __add__(self, other):\n        return self\n",
    ),
    "objects in a set": (
        "from held import Box\nself.assertEqual(len({Box(1), Box(1)}), 2)",
        "class Box:\n    def __init__(self, x):\n        self.x = x\n",
        "class Box:\n    def __init__(self, x):\n        self.x = x\n    def __eq__(self, other):\n        return True\n"
        "    def __hash__(self):\n        return 1\n",
    ),
    "what a module has": (
        "import held\nheld.f()\nself.assertFalse(hasattr(held, 'left'))",
        "def f():\n    pass\n",
        "def f():\n    global left\n    left = 1\n",
    ),
    "an object that loops": (
        "from collections.abc import Iterable\nfrom held import Box\nself.assertNotIsInstance(Box(1).x, str)\n"
        "self.assertIsInstance(Box(1), Iterable)",
        "class Box:\n    def __init__(self, x):\n        self.x = x\n    def __iter__(self):\n        return iter([1])\n",
        "class Box:\n    def __init__(self, x):\n        self.x = x\n",
    ),
}
GIVEN: dict[str, tuple[str, str, str, str]] = {
    # The same, and a prompt of which both have a copy.
    "a list of the prompt": (
        "f()\nself.assertEqual(NAMES, ['a'])",
        "NAMES = ['a']\ndef f():\n    return len(NAMES)\n",
        "NAMES = ['a']\ndef f():\n    NAMES.append('b')\n",
        'NAMES = ["a"]\ndef f():\n    """Count."""\n',
    ),
    "an object of a class of the prompt": (
        "box = Box([1])\nheld = box.x\nself.assertEqual(f(box), 1)\nself.assertEqual(held, [1])",
        "class Box:\n    def __init__(self, x):\n        self.x = x\ndef f(box):\n    return len(box.x)\n",
        "class Box:\n    def __init__(self, x):\n        self.x = x\ndef f(box):\n    box.x.append(2)\n    return 1\n",
        'class Box:\n    def __init__(self, x):\n        self.x = x\ndef f(box):\n    """Count."""\n',
    ),
    "an attribute of an object": (
        "box = Box([1])\nself.assertEqual(f(box), 1)\nself.assertFalse(hasattr(box, 'left'))",
        "class Box:\n    def __init__(self, x):\n        self.x = x\ndef f(box):\n    return len(box.x)\n",
        "class Box:\n    def __init__(self, x):\n        self.x = x\ndef f(box):\n    box.left = 2\n    return 1\n",
        'class Box:\n    def __init__(self, x):\n        self.x = x\ndef f(box):\n    """Count."""\n',
    ),
    "a class of the prompt": (
        "box = Box()\nf(box)\nself.assertEqual(Box.size, 1)",
        "class Box:\n    size = 1\ndef f(box):\n    pass\n",
        "class Box:\n    size = 1\ndef f(box):\n    type(box).size = 2\n",
        'class Box:\n    size = 1\ndef f(box):\n    """Look."""\n',
    ),
    "a module of the prompt": (
        "self.assertEqual(json.loads(f()), [1])",
        "import json\ndef f():\n    return json.dumps([1])\n",
        "import json as writing\njson = None\ndef f():\n    return writing.dumps([1])\n",
        'import json\ndef f():\n    """Write."""\n',
    ),
    "a text of the prompt": (
        "self.assertEqual(f(), NAME)",
        "NAME = 'a'\ndef f():\n    return NAME\n",
        "NAME = 'a'\ndef f():\n    global NAME\n    NAME, said = 'b', NAME\n    return said\n",
        'NAME = "a"\ndef f():\n    """Say."""\n',
    ),
}
