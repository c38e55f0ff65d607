"""Functions whose tests look at more than what is returned: identity, arguments, exceptions, what they execute."""

import pytest

from truegrade.grading.functions import TESTS_INSIDE, grade_by_tests
from truegrade.grading.names_in_tests import reads_state
from truegrade.grading.values_in_tests import are_plain, compare_with_fixed_values
from truegrade.records import FunctionTask, Reason
from truegrade.sandbox import Limits, Sandbox
from truegrade.sandbox.judging import rebuild


@pytest.fixture(scope="module")
def graded():
    with Sandbox(Limits(cpu_s=1.0, wall_s=3.0, packages=("numpy", "pandas")), workers=1) as sandbox:
        yield lambda tests, program, reference="": grade_by_tests(
            FunctionTask(prompt="", entry_point="f", tests=tests, reference=reference), program, sandbox
        )


SORTED = "def f(x):\n    return sorted(x)\n"
IN_PLACE = "def f(x):\n    x.sort()\n    return x\n"
ZEROS = "def f(n):\n    return [[0] * n for _ in range(n)]\n"
ONE_ROW = "def f(n):\n    return [[0] * n] * n\n"
FRESH = "def f(x, held=None):\n    held = [] if held is None else held\n    held.append(x)\n    return held\n"
SHARED = "def f(x, held=[]):\n    held.append(x)\n    return held\n"
CHANGES = "def f(x):\n    x.append(1)\n"
COPIES = "def f(x):\n    x = x + [1]\n"

KEEPS = "def f(x):\n    for one in x:\n        if one > 1: yield one\n"
DRAINS = "def f(x):\n    while x:\n        if (one := x.pop(0)) > 1: yield one\n"


@pytest.mark.parametrize(
    "tests, right, wrong",
    [
        ("a = [2, 1]\nassert f(a) == [1, 2]\nassert a == [2, 1]", SORTED, IN_PLACE),
        ("a = [1, 2]\nassert f(a) is not a", SORTED, IN_PLACE),
        ("a = [2, 1]\nassert f(a) is a", IN_PLACE, SORTED),
        ("a = f(2)\na[0][0] = 1\nassert a == [[1, 0], [0, 0]]", ZEROS, ONE_ROW),
        ("a, b = f(2)\na.append(1)\nassert b == [0, 0]", ZEROS, ONE_ROW),
        ("f(1).append(2)\nassert f(1) == [1]", FRESH, SHARED),
        ("a = [0]\nf(a)\nassert a == [0, 1]", CHANGES, COPIES),
        ("a = [1, 2]\nassert list(f(a)) == [2]\nassert a == [1, 2]", KEEPS, DRAINS),
        (
            "def check(candidate):\n    a = [0]\n    candidate(a)\n    assert a == [0, 1]\ncheck(f)",
            CHANGES,
            COPIES,
        ),
    ],
)
def test_identity_and_arguments_are_seen_where_tests_look_at_them(graded, tests, right, wrong):
    assert (graded(tests, right, right).reason, graded(tests, right, right).marks) == (Reason.PASSED, ())
    assert graded(tests, wrong, right).reason is Reason.WRONG_ANSWER


SPOILS = "def f(x):\n    total = sum(x)\n    x.clear()\n    return total\n"
ADDS = "def f(x): return sum(x)"
KEEPS_ONE = "B = []\ndef f(x):\n    B[:] = x\n    return B\n"
COPY = "def f(x): return list(x)"
REFITTED = "import collections\nD = collections.defaultdict()\ndef f(x):\n"
REFITTED += "    D.default_factory = [list, int][x - 1]\n    return D\n"
METHOD = "class T:\n    def g(self, z): return f(z)\n"
CACHED = "import functools\n@functools.cache\ndef g(x): return f([x])\n"


@pytest.mark.parametrize(
    "tests, wrong, right",
    [
        ("x = [1, 2]\nassert f(x) == 3\nassert f(x) == 3", SPOILS, ADDS),
        ("x = [1, 2]\nassert f(x) == 3\nassert f(x + [3]) == 6", SPOILS, ADDS),
        ("def t(c):\n    for x, y in C: assert c(x) == y\nC = [([1], 1)]\nt(f)\nt(f)", SPOILS, ADDS),
        (f"{METHOD}y = [1]\nassert T().g(y) == 1\nassert y == [1]", SPOILS, ADDS),
        ("y = [1]\nz: list = y\nassert f(z) == 1\nassert y == [1]", SPOILS, ADDS),
        ("y = [1]\ndef g(z=y): return f(z)\nassert g() == 1\nassert y == [1]", SPOILS, ADDS),
        ("y = [1]\nassert f(y) == 1\nassert globals()['y'] == [1]", SPOILS, ADDS),
        (f"{METHOD}a = T().g([1])\nb = T().g([2])\nassert a == [1]", KEEPS_ONE, COPY),
        (f"{CACHED}g(1)\ng(2)\nassert g(1) == [1]", KEEPS_ONE, COPY),
        ("m = f(2)\nm[0] += [1]\nassert m == [[0, 1], [0]]", "def f(n): return [[0]] * n",
         "def f(n): return [[0], [0]]"),
        (
            "x = [2, 1]\ndef apply(h, y): return h(y)\nassert apply(f, x) == apply(sorted, x)",
            "def f(x):\n    if len(x) > 1: x.clear()\n    return list(x)",
            SORTED,
        ),
        ("x = [1]\nassert f(x) == 1\nassert repr(x[0]) == '1'",
         "class I(int):\n    def __repr__(self): return 'z'\ndef f(x):\n    x[0] = I(1)\n    return 1", ADDS),
        ("import numpy\nm = f(2)\nm[0][0] = 5\nassert m[1][0] == 0",
         "import numpy\ndef f(n): return numpy.lib.stride_tricks.as_strided(numpy.zeros(n), (n, n), (0, 8))",
         "import numpy\ndef f(n): return numpy.zeros((n, n))"),
        ("d = f(2)\nd['a'].append(3)\nassert d['b'] == []",
         "import collections\ndef make(*, s=[]): return s\ndef f(x): return collections.defaultdict(make)",
         "import collections\ndef f(x): return collections.defaultdict(list)"),
        ("x = ([1],)\nassert f(x) is not x", "def f(x): return x", "def f(x): return ([*x[0]],)"),
        ("assert f(0)", "class C:\n    def __len__(self): return 0\ndef f(x): return C()",
         "def f(x): return [1]"),
        ("assert not callable(f(1))", "def f(x): return int", "def f(x): return 1"),
        ("assert not hasattr(f, '__wrapped__')", "import functools\n@functools.cache\ndef f(x): return x",
         "def f(x): return x"),
        ("assert not isinstance(f, type)", "class f:\n    def __init__(self, x): pass", "def f(x): return x"),
        ("import pandas as pd\nL = [1]\nd = pd.Series([L])\nf(d)\nassert L == [1]",
         "def f(d): d[0].append(2)", "def f(d): return None"),
        ("L = [1]\nr = f(L)\nL.append(2)\nassert r[0] == [1]",
         "import pandas as pd\ndef f(x): return pd.Series([x])",
         "import pandas as pd\ndef f(x): return pd.Series([list(x)])"),
        ("import pandas as pd\npd.testing.assert_series_equal(f(1), pd.Series(['a']))",
         "import pandas as pd\ndef f(x): return pd.Series(['a'], dtype=object)",
         "import pandas as pd\ndef f(x): return pd.Series(['a'])"),
        ("from collections import defaultdict\nd = defaultdict(list)\nassert f(d) == 0\nd['b'].append(2)",
         "def f(d):\n    d.default_factory = None\n    return len(d)", "def f(d): return len(d)"),
        ("from collections import defaultdict\nd = f(1)\nf(2)\nassert d['b'] == []",
         REFITTED,
         "import collections\ndef f(x): return collections.defaultdict(list)"),
        ("import pandas as pd\ni = pd.Index([2, 1])\nassert f(i) == [1, 2]\nassert i.name is None",
         "def f(i):\n    i.name = 'x'\n    return sorted(i)", "def f(i): return sorted(i)"),
        ("import pandas\nd = pandas.DataFrame([1])\nr = f(d)\nr.index.name = 1\nassert d.index.name is None",
         "def f(d):\n    r = d * 2\n    r.index = d.index\n    return r",
         "def f(d): return (d * 2).set_axis([0])"),
        ("import pandas as pd\ni = pd.Index([2, 1])\nassert f(i) is not i", "def f(i): return i",
         "def f(i): return i.copy()"),
        ("r = f([1., 2.])\nassert abs(r * 100000 - 150000) < 1",
         "import numpy\ndef f(x): return numpy.mean(x, dtype=numpy.float16)", "def f(x): return sum(x) / len(x)"),
        ("assert repr(f(1)).endswith('tzinfo=datetime.timezone.utc)')",
         "import datetime as d\ndef f(x): return d.datetime(2024, x, 1, tzinfo=d.timezone(d.timedelta(0), 'UTC'))",
         "import datetime as d\ndef f(x): return d.datetime(2024, x, 1, tzinfo=d.timezone.utc)"),
        ("assert f(1).dtype == 'f8'", "import numpy\ndef f(x): return numpy.ones(x, dtype='f2')",
         "import numpy\ndef f(x): return numpy.ones(x)"),
        ("try:\n    f(1)\nexcept Exception as e:\n    assert type(e) is Exception",
         "class E(Exception): pass\nE.__name__ = 'Exception'\ndef f(x): raise E",
         "def f(x): raise Exception"),
        ("try:\n    f(1)\nexcept NameError as e:\n    assert e.name is None", "def f(x): return zz",
         "def f(x): raise NameError('zz')"),
        ("try:\n    f(1)\nexcept ValueError as e:\n    assert not getattr(e, '__notes__', None)",
         "def f(x):\n    e = ValueError()\n    e.add_note('x')\n    raise e", "def f(x): raise ValueError"),
    ],
)  # fmt: skip
def test_what_fails_in_one_process_passes_unmarked_nowhere(graded, tests, wrong, right):
    judged = graded(tests, wrong, right)
    assert not judged.passed or judged.marks == (TESTS_INSIDE,)
    assert graded(tests, right, right).passed


@pytest.mark.parametrize(
    "tests, program",
    [
        ("import io, contextlib\nout = io.StringIO()\nwith contextlib.redirect_stdout(out): f(1)",
         "def f(x): print(x)"),
        ("import os\nf(1)\nassert 'ZZ' not in os.environ", "import os\ndef f(x): os.environ['ZZ'] = '1'"),
        ("try:\n    f(1)\nexcept ValueError as error:\n    assert error.__context__ is None",
         "def f(x):\n    try: 1 / 0\n    except ZeroDivisionError: raise ValueError"),
        ("import calendar\ncalendar.setfirstweekday(6)\nassert f(1) == 0",
         "import calendar\ndef f(x): return calendar.firstweekday()"),
        ("from sys import argv\nargv.append('z')\nassert f(1) == 0",
         "import sys\ndef f(x): return int('z' in sys.argv)"),
        ("import sys\nsys.argv[0] = 'z'\nassert f(1) == 0",
         "import sys\ndef f(x): return int(sys.argv[0] == 'z')"),
        ("import numpy as np\nnp.set_printoptions(precision=2)\nassert f(1) == '[0.333]'",
         "import numpy\ndef f(x): return str(numpy.array([0.333]))"),
        ("from numpy import set_printoptions as q\nq(precision=2)\nassert f(1) == '[0.333]'",
         "import numpy\ndef f(x): return str(numpy.array([0.333]))"),
        ("import json\njson.JSONEncoder.item_separator = ';'\nassert f(1) == '[1, 1]'",
         "import json\ndef f(x): return json.dumps([x, x])"),
        ("import sys\ngetattr(sys, 'setrecursionlimit')(500)\nassert f(1) == 1000",
         "import sys\ndef f(x): return sys.getrecursionlimit()"),
        ("import csv\ncsv.field_size_limit(3)\nassert f(1) == 131072",
         "import csv\ndef f(x): return csv.field_size_limit()"),
        ("import traceback as t\ntry: f(1)\nexcept ValueError as e: assert 'K' not in str(t.format_exception(e))",
         "def f(x): raise ValueError from KeyError()"),
        ("import random\nrandom.seed(7)\nassert 0 <= f(1) <= 1",
         "import random\ndef f(x): return random.random()"),
        ("import numpy as np\nnp.savetxt('t.txt', [1.0])\nassert f('t.txt') == [1.0]",
         "import numpy\ndef f(x): return [float(numpy.loadtxt(x))]"),
    ],
)  # fmt: skip
def test_what_a_program_leaves_in_its_process_is_in_doubt(graded, tests, program):
    assert graded(tests, program).marks == (TESTS_INSIDE,)


def test_values_that_take_too_much_to_be_kept_in_step_are_copied(graded):
    tests = "kept = []\nfor i in range(4000):\n    kept.append(f([i]))\nassert kept[3] == [3]"
    judged = graded(tests, "def f(x): return x")
    assert (judged.reason, judged.marks) == (Reason.PASSED, (TESTS_INSIDE,))


def test_tests_may_call_from_several_threads(graded):
    pool = "from concurrent.futures import ThreadPoolExecutor as Pool\nwith Pool(8) as pool:\n"
    tests = f"{pool}    found = list(pool.map(f, range(200)))\nassert found == list(range(200))"
    assert all(graded(tests, "def f(x): return x").passed for _ in range(5))


@pytest.mark.parametrize(
    "tests",
    [
        "assert f('solar system') == f('eval') == 1  # compile",
        "import re\nassert f(re.compile('a').pattern) == 1",
        "flags = query = 1\nassert f(flags) == query",
    ],
)
def test_words_that_execute_nothing_are_no_mark(graded, tests):
    assert graded(tests, "def f(x): return 1").marks == ()


def test_an_iterator_that_changes_an_argument_as_it_is_read_is_in_doubt(graded):
    tests = "a = [1, 2]\nassert list(f(a)) == [2]\nassert not a"
    assert (graded(tests, DRAINS).reason, graded(tests, DRAINS).marks) == (Reason.PASSED, (TESTS_INSIDE,))
    assert graded(tests, KEEPS).reason is Reason.WRONG_ANSWER


@pytest.mark.parametrize(
    "tests, wrong",
    [
        ("x = [0, 1]\nf(x)\nassert x == [1, 0]", "def f(x):\n    x.sort(key=bool)\n    x.reverse()\n    yield"),
        ("x = [1]\nr = f(x)\nassert x == [1, 1]", "def f(x): return map(x.append, [1])"),
        ("f(1)\nassert list(f(1)) == [2]", "N = 0\ndef f(x):\n    global N\n    N += 1\n    yield N"),
        ("a, b = f(1)\nassert list(a) == list(b) == [1]", "def f(x):\n    one = iter([1])\n    return one, one"),
    ],
)
def test_an_iterator_that_the_program_alone_runs_is_in_doubt(graded, tests, wrong):
    judged = graded(tests, wrong)
    assert not judged.passed or judged.marks == (TESTS_INSIDE,)


@pytest.mark.parametrize("index", ["x[r] == 5", "x[r:r + 1] == [5]", "[x[r]] == [5]"])
def test_a_result_says_where_no_argument_may_have_been_changed(graded, index):
    tests = f"x = [1, 5, 2]\nr = f(x)\nassert {index}"
    judged = graded(tests, "def f(x):\n    x[0] = max(x)\n    return 0", "def f(x): return x.index(max(x))")
    assert judged.reason is Reason.WRONG_ANSWER


RETURNS_SORTED = "a = [2, 1]\nassert f(a) == sorted(a)"
HAS_EQUAL = "a = [1, 1]\nassert f(a) == (len(a) != len(set(a)))"
SORTS = "a = [2, 1]\nf(a)\nassert a == sorted(a)"
COUNTS = "def f(x):\n    return len(set(x)) < len(x)\n"
SORTS_IT = "def f(x):\n    x.sort()\n"
SLICES = "def f(x):\n    x[:] = sorted(x)\n"


@pytest.mark.parametrize(
    "tests, reference, program, passes, marks",
    [
        (RETURNS_SORTED, SORTED, "def f(x):\n    x.clear()\n    return x\n", False, ()),
        (RETURNS_SORTED, SORTED, IN_PLACE, True, ()),
        (HAS_EQUAL, COUNTS, "def f(x):\n    del x[:]\n    return False\n", False, ()),
        (SORTS, SORTS_IT, "def f(x):\n    x.clear()\n", True, (TESTS_INSIDE,)),
        (SORTS, SORTS_IT, SLICES, True, ()),
        (SORTS, "", SLICES, True, (TESTS_INSIDE,)),
    ],
)  # fmt: skip
def test_a_candidate_that_changes_its_arguments_passes_on_copies_or_changes_them_as_the_reference_does(
    graded, tests, reference, program, passes, marks
):
    judged = graded(tests, program, reference)
    assert (judged.passed, judged.marks) == (passes, marks), judged
    assert passes or judged.detail.startswith("on copies of its arguments: `assert f(a)")


KEPT = "r = f(1)\ns = f(2)\nassert list(r) == [1] and list(s) == [2]"
MADE = "def f(x):\n    return [x]\n"
ONE_OBJECT = {
    "list": "B = [0]\ndef f(x):\n    B[0] = x\n    return B\n",
    "default": "def f(x, a=[]):\n    a[:] = [x]\n    return a\n",
    "subclass": "class L(list): pass\nB = L([0])\ndef f(x):\n    B[0] = x\n    return B\n",
    "array": "import numpy\nB = numpy.zeros(1)\ndef f(x):\n    B[0] = x\n    return B[:]\n",
    "iterator": "B = [0]\ndef f(x):\n    B[0] = x\n    return iter(B)\n",
    "view": "B = {}\ndef f(x):\n    B.clear()\n    B[x] = 0\n    return B.keys()\n",
}


@pytest.mark.parametrize(
    "tests",
    [
        KEPT,
        "both = f(1), f(2)\nassert list(map(list, both)) == [[1], [2]]",
        "both = [f(x) for x in (1, 2)]\nassert [list(x) for x in both] == [[1], [2]]",
        "both = list(map(f, (1, 2)))\nassert [list(x) for x in both] == [[1], [2]]",
        "both = []\nfor x in (1, 2):\n    both += [f(x)]\nassert [list(x) for x in both] == [[1], [2]]",
        "def run(x):\n    return f(x)\nr = run(1)\ns = run(2)\nassert (list(r), list(s)) == ([1], [2])",
        "g = f\nr = g(1)\ns = g(2)\nassert (list(r), list(s)) == ([1], [2])",
        "def check(c):\n    r = c(1)\n    s = c(2)\n    assert (list(r), list(s)) == ([1], [2])\ncheck(f)",
        "for x in f(1):\n    assert list(f(2)) == [2] and x == 1\nassert list(f(1)) != list(f(2))",
    ],
)
def test_no_result_that_another_call_changes_passes_unmarked(graded, tests):
    assert (graded(tests, MADE, MADE).reason, graded(tests, MADE, MADE).marks) == (Reason.PASSED, ())
    assert not are_plain(tests, "f")
    for program in ONE_OBJECT.values() if "for x in f(1)" not in tests else ():
        judged = graded(tests, program, MADE)
        assert not judged.passed or judged.marks == (TESTS_INSIDE,), program


@pytest.mark.parametrize(
    "tests, reference, wrong",
    [
        (
            "import numpy\na = numpy.array([1, 2])\nr = f(a)\na[0] = 9\nassert r[0] == 1",
            "def f(a): return a.copy()",
            ["def f(a): return a.view()", "def f(a): return a[:]", "def f(a): return a.T"],
        ),
        (
            "a = [1, 2]\nr = f(a)\na[0] = 9\nassert next(iter(r)) == 1",
            "def f(a): return list(a)",
            ["def f(a): return iter(a)", "def f(a): return map(int, a)", "def f(a): return (x for x in a)"],
        ),
        (
            "a = {1: 2}\nr = f(a)\na[3] = 4\nassert list(r) == [1]",
            "def f(a): return list(a)",
            ["def f(a): return a.keys()", "def f(a): return iter(a)", "def f(a): return reversed(a)"],
        ),
    ],
)
def test_no_view_of_an_argument_that_the_tests_change_passes_unmarked(graded, tests, reference, wrong):
    assert (graded(tests, reference, reference).reason, graded(tests, reference).marks) == (Reason.PASSED, ())
    for program in wrong:
        judged = graded(tests, program, reference)
        assert not judged.passed or judged.marks == (TESTS_INSIDE,), program


LOOP = "d = {'a': 1, 'b': 2}\nfor k in f(d): d[str(k) + 'x'] = 0\nassert len(d) == 4"
ADDED = "for k in f():\n    f(str(k) + 'x')\nassert f(1)"
SHOWS = "D = {'a': 1}\ndef f(k=None):\n    if k: D[k] = 1\n    return D"
HELD_VIEW = "r = f('a')\nf('b')\nassert list(r) == ['a', 'b']"


@pytest.mark.parametrize(
    "tests, reason, program",
    [
        *[(LOOP, Reason.WRONG_ANSWER, f"def f(d): return d.{one}()") for one in ("keys", "values", "items")],
        (LOOP, Reason.WRONG_ANSWER, "def f(d): return iter(d)"),
        (LOOP.replace("f(d)", "[(1, k) for k in f(d)]"), Reason.PASSED, "def f(d): return d.keys()"),
        (LOOP.replace("k in f(d)", "_, k in enumerate(f(d))"), Reason.WRONG_ANSWER, "def f(d): return d.keys()"),
        *[(ADDED, Reason.WRONG_ANSWER, f"{SHOWS}.{one}()") for one in ("keys", "items")],
        (ADDED, Reason.WRONG_ANSWER, f"{SHOWS}.keys().__iter__()"),
        (ADDED, Reason.PASSED, f"{SHOWS}.copy().keys()"),
        (HELD_VIEW, Reason.PASSED, f"{SHOWS}.keys()".replace("'a': 1", "")),
        (HELD_VIEW, Reason.WRONG_ANSWER, f"{SHOWS}.copy().keys()".replace("'a': 1", "")),
        (
            "d = {1: 2}\nassert f(d.items()) == 1\nassert f(d.keys()) == 1",
            Reason.PASSED,
            "def f(x): return len(x)",
        ),
        (
            "import collections\nd = collections.OrderedDict(a=1, b=2)\nfor k in d: f(d, k)\nassert d['b'] == 3",
            Reason.PASSED,
            "def f(d, k): d[k] += 1",
        ),
    ],
)
def test_a_view_shows_its_dict_and_a_loop_over_one_ends_where_the_dict_changes_size(
    graded, tests, reason, program
):
    judged = graded(tests, program, program if reason is Reason.PASSED else "")
    if "iter" in program:  # which was run to its end when it was returned
        assert (judged.reason, judged.marks) == (Reason.PASSED, (TESTS_INSIDE,))
    else:
        assert (judged.reason, judged.marks) == (reason, ())


VALUES = "d = {'a': 1}\nv = d.values()\n"
PERMUTED = """def f(xs, i=0):
    if i == len(xs): yield list(xs)
    for j in range(i, len(xs)):
        xs[i], xs[j] = xs[j], xs[i]
        yield from f(xs, i + 1)
        xs[i], xs[j] = xs[j], xs[i]
"""


@pytest.mark.parametrize(
    "tests, program",
    [
        ("f(1)\nassert f() == [1]", "U = []\ndef f(x=0):\n    if x: yield U.append(x)\n    return U"),
        ("f(1)\nassert list(f()) == [1]", "U = []\ndef f(x=0):\n    if x: U.append(x)\n    else: yield from U"),
        (
            "assert next(f(1)) == 1\nassert f(0) == 1",
            "N = [0]\ndef f(x):\n    return g() if x else N[0]\ndef g():\n    yield 1\n    N[0] += 1",
        ),
        ("x = [1, 2, 3]\nfor p in f(x): assert x == [1, 2, 3]", PERMUTED),
        ("assert f() is not f()", "I = iter([1])\ndef f(): return I"),
    ],
)
def test_a_program_that_is_run_further_by_reading_its_iterators_is_in_doubt(graded, tests, program):
    judged = graded(tests, program)
    assert not judged.passed or judged.marks == (TESTS_INSIDE,)


@pytest.mark.parametrize(
    "tests, right, wrong",
    [
        (
            f"{VALUES}assert f(v) == 1\nd['b'] = 2\nassert f(v) == 3",
            "def f(v): return sum(v)",
            "import functools\n@functools.lru_cache\ndef f(v): return sum(v)",
        ),
        (
            f"{VALUES}v = f(d)\nassert f(d) != v",
            "def f(d): return d.values()",
            "V = []\ndef f(d):\n    if not V: V.append(d.values())\n    return V[0]",
        ),
        (f"{VALUES}assert f(v) is v", "def f(v): return v", "def f(v): return {'a': 1}.values()"),
        (
            "d = {}\nd['v'] = d.items()\nassert f(d)['v'] is d['v'] and f(d) is d",
            "def f(v): return v",
            "def f(v): return dict(v)",
        ),
    ],
)
def test_a_view_is_one_and_the_same_on_both_sides(graded, tests, right, wrong):
    assert (graded(tests, right, right).reason, graded(tests, right, right).marks) == (Reason.PASSED, ())
    assert graded(tests, wrong, right).reason is not Reason.PASSED


ARRAY = "import numpy\na = numpy.arange(4).reshape(2, 2)\n"


@pytest.mark.parametrize(
    "tests, right, wrong",
    [
        (
            f"{ARRAY}f(a.T)\nassert a.tolist() == [[9, 1], [2, 3]]",
            "def f(x): x[0, 0] = 9",
            "def f(x): x.ravel()[0] = 9",
        ),
        (
            "import numpy\na = numpy.arange(6).reshape(2, 3)\nf(a[::-1, ::2])\nassert a[1, 0] == 9",
            "def f(x): x[0, 0] = 9",
            "def f(x): x.reshape(-1)[0] = 9",
        ),
        (
            f"{ARRAY}assert f(a.T) == [0, 1, 2, 3]\nassert a.sum() == 6",
            "def f(x): return x.ravel(order='K').tolist()",
            "def f(x): return x.ravel().tolist()",
        ),
        (
            "r = f(2)\nr.ravel()[0] = 7\nassert r[0, 0] == 0",
            "import numpy\ndef f(n): return numpy.zeros((n, n), order='F')",
            "import numpy\ndef f(n): return numpy.zeros((n, n))",
        ),
    ],
)
def test_the_layout_of_an_array_crosses(graded, tests, right, wrong):
    assert (graded(tests, right, right).reason, graded(tests, right, right).marks) == (Reason.PASSED, ())
    assert graded(tests, wrong, right).reason is Reason.WRONG_ANSWER


DEQUE = "import collections\nq = collections.deque([1, 2], maxlen=2)\n"


@pytest.mark.parametrize(
    "tests, program, marks",
    [
        (f"{DEQUE}for i in (0, 1): f(q, i)\nassert q[1] == 2", "def f(q, i): q.append(q.popleft())", ()),
        (
            f"{DEQUE}for i, _ in enumerate(q): f(q, i)\nassert q[1] == 20",
            "def f(q, i): q[i] *= 10",
            (TESTS_INSIDE,),
        ),
        (f"{DEQUE}for x in q: f(q, x)\nassert len(q) == 2", "def f(q, x): q.append(x)", (TESTS_INSIDE,)),
        ("d = {1: 1, 2: 2}\nfor k in d: f(d, k)\nassert d == {1: 2, 2: 3}", "def f(d, k): d[k] += 1", ()),
        (
            "d = {1: 1, 2: 2}\nfor k in d: f(d, k)\nassert len(d) == 2",
            "def f(d, k): d[k] = d.pop(k)",
            (TESTS_INSIDE,),
        ),
    ],
)
def test_a_loop_over_what_the_program_changes_is_in_doubt_where_it_may_end(graded, tests, program, marks):
    assert (graded(tests, program, program).reason, graded(tests, program, program).marks) == (
        Reason.PASSED,
        marks,
    )


READ_ONLY = "import numpy\nx = numpy.arange(3)\nx.setflags(write=False)\nassert f(x).tolist() == [0, 1, 2]"


def test_an_array_that_is_read_only_is_so_for_the_program(graded):
    right, wrong = "def f(x): return x.copy()", "import numpy\ndef f(x): return numpy.clip(x, 0, None, out=x)"
    assert (graded(READ_ONLY, right, right).reason, graded(READ_ONLY, right, right).marks) == (Reason.PASSED, ())
    assert graded(READ_ONLY, wrong, right).reason is Reason.RUNTIME_ERROR


def test_tests_that_ask_what_an_array_is_a_part_of_are_in_doubt(graded):
    tests = "import numpy\nassert f(numpy.arange(6)).base is not None"
    assert graded(tests, "def f(a): return a.copy()", "def f(a): return a[:]").marks == (TESTS_INSIDE,)


def test_an_iterator_that_was_read_before_anything_changed_is_in_no_doubt(graded):
    tests = "a = [1]\nassert list(f(a)) == [1]\na.append(2)\nassert sum(f([3])) == 3\nassert list(f(a)) == [1, 2]"
    program = "def f(x):\n    yield from x\n"
    assert (graded(tests, program).reason, graded(tests, program).marks) == (Reason.PASSED, ())


@pytest.mark.parametrize(
    "tests, reference, program, marks",
    [
        (
            "m = [[1, 2], [3, 4]]\nf(m)\nassert m == [[3, 1], [4, 2]]",
            "def f(m): m[:] = [list(row) for row in zip(*m[::-1])]",
            "def f(m):\n    a, b = m\n    a[0], a[1], b[0], b[1] = b[0], a[0], b[1], a[1]",
            (),
        ),
        (
            "a = [1, 1, 2]\nk = f(a)\nassert a[:k] == [1, 2]",
            "def f(a):\n    a[:] = sorted(set(a))\n    return len(a)",
            "def f(a):\n    a[1] = 2\n    return 2",
            (),
        ),
        (
            "a = [2, 1]\nf(a)\nfor i in range(len(a) - 1):\n    assert a[i] == min(a[i:])",
            SORTS_IT,
            "def f(x): x.clear()",
            (TESTS_INSIDE,),
        ),
        (
            "a = [2, 1]\ntry:\n    f(a)\n    assert a == [1, 2]\nexcept AssertionError:\n    assert not a",
            SORTS_IT,
            "def f(x): x.clear()",
            (TESTS_INSIDE,),
        ),
        (
            "a = [2, 1]\nf(a)\nassert (a == sorted(a)) == True",
            SORTS_IT,
            "def f(x): x.clear()",
            (TESTS_INSIDE,),
        ),
    ],
)
def test_a_program_that_works_in_place_may_do_so_in_its_own_way_where_no_expectation_hangs_on_it(
    graded, tests, reference, program, marks
):
    judged = graded(tests, program, reference)
    assert (judged.reason, judged.marks) == (Reason.PASSED, marks)


@pytest.mark.parametrize(
    "tests, said",
    [
        ("assert f(1) == 3", "`assert f(1) == 3` failed; the program returned 2"),
        ("a = f(1)\nb = f(2)\nassert a == 3", "`assert a == 3` failed"),
        ("b = f(1)\na = f(2)\nassert a == 4", "`assert a == 4` failed; the program returned 3"),
        ("a = [f(1)]\na[0] = 5\nassert a == [2]", "`assert a == [2]` failed"),
        ("def check(c):\n    assert c(1) == 3\ncheck(f)", "`assert c(1) == 3` failed; the program returned 2"),
    ],
)
def test_what_was_returned_is_told_where_the_failing_statement_asks_for_it(graded, tests, said):
    assert graded(tests, "def f(x):\n    return x + 1\n").detail == said


@pytest.mark.parametrize(
    "tests",
    [
        "assert f([1]) == [1]\nassert f(2) is None\nassert f(3)[0] == 3\nf(4)",
        "def check(candidate):\n    assert candidate([3, 1]) == [1, 3], candidate(2)\n\n\ncheck(f)\ncheck(f)",
        "import math\nN = 3\nfor i in range(10):\n    assert abs(f(i, N) - math.sqrt(i)) < 1e-6",
        "try:\n    f(1)\nexcept ValueError as error:\n    assert str(error) == 'x'\nassert sorted(f([2])) == [2]",
        "def f(a, b):\n    return sorted(Solution().f(a, b))\n\n\nassert f([1], b='x' * 3) == []",
        "WANTED = [1]\nassert f(list(range(3))) == WANTED\nassert all(x > 0 for x in f({1: (2,)}))",
        "import numpy as np\nassert np.allclose(f(np.array([1.0, np.pi])), 2)",
        "assert f(3) == [0] * 3 and True",
    ],
)
def test_most_tests_look_at_no_more_than_what_is_returned(tests):
    assert are_plain(tests, "f")


@pytest.mark.parametrize(
    "tests",
    [
        "x = [1]\nassert f(x) == 1\nassert f(x) == 1",
        "for x, y in [([1], 2), ([3], 4)]:\n    assert f(x) == y",
        "import data\nassert f(data.rows) == 1",
        "from data import rows\nassert f(rows) == 1",
        "class T:\n    def g(self, z): return f(z)\nassert T().g([1]) == [1]",
        "def keep(value):\n    global last\n    last = value\n    return value\nassert keep(f(1)) == [1]",
        "def make(candidate):\n    return candidate([1])\nassert make(f) == make(f)",
        "@cache\ndef check(candidate):\n    assert candidate(1)\ncheck(f)",
        "def check(candidate, x=[1]):\n    assert candidate(x)\ncheck(f)",
        "h = []\nimport heapq\nassert heapq.heappush(h, f(1)) is None",
        "h = []\nassert h.append(f(1)) is None",
        "assert [*map(f, [1, 2])] == [1, 2]",
        "assert [f(x) for x in (1, 2)] == [1, 2]",
        "assert f(1) == f(2)",
        "assert f(f(1)) == 1",
        "assert (r := f(1)) == [1]",
        "x: list = f(1)",
        "r = f(1)\nassert r == [1]",
        "assert globals()['f']([1]) == 1",
        "assert f([1]) is not WANTED",
        "assert type(f(1)) is int",
        "assert repr(f(1)) == '1'",
        "assert f'{f(1)}' == '1'",
        "assert f('aab')['z'] == 0",
        "with open('x') as file:\n    assert f(1) == 1",
        "g = f\nassert g(1) == 1",
        "sorted = keep\nassert sorted(f(1)) == [1]",
        "def sorted(candidate):\n    assert candidate(1)\nassert sorted(f(1)) == [1]",
        "while f(1) != 2:\n    pass",
        "N = [1]\nassert f(N) == 1",
        "for N in range(3):\n    N = [N]\n    assert f(N) == 1",
        "try:\n    pass\nexcept f(1):\n    pass",
        "try:\n    f([1])\nexcept ValueError as e:\n    assert f([2])\n    assert e.args[0] == [1]",
        "x = [1]\ntry:\n    assert False, f(x)\nexcept AssertionError:\n    pass\nassert x == [1]",
        "assert f([[0] * 2] * 2) == [[1, 0], [0, 0]]",
        "assert f(dict.fromkeys('ab', [])) == 1",
        "assert len(set(map(id, f(2)))) == 2",
        "import operator\nassert operator.is_not(*f(2))",
        "assert f(1) is WANTED is not None",
        "assert [r.append(1) or r for r in f(2)] == [[0, 1], [0, 1]]",
        "assert sorted(f(2), key=list.pop) == [[], []]",
        "import numpy as np\nassert np.add(f(1), 1, out=HELD)",
        "assert '%r' % f(2) == '2'",
        "assert ','.join(map(repr, f(2))) == '2'",
        "import keyword as string\nassert f(string.kwlist) == 1",
        "N = 0\nfrom keyword import kwlist as N\nassert f(N) == 1",
        "import numpy as np\nassert f(np.typecodes) == 1",
        "from itertools import repeat as range\nfor i in range([1], 2):\n    assert f(i) == 1",
    ],
)
def test_tests_are_plain_only_where_all_that_they_do_shows(tests):
    assert not are_plain(tests, "f")


@pytest.mark.parametrize(
    "tests, fixed",
    [
        ("a = [2, 1]\nf(a)\nassert a == [1, 2]\nk = f(a, 3)\nassert a[:k] == list((1, 2))", True),
        (
            "def check(candidate):\n    a = {1: 2}\n    assert candidate(a) == 3\n    assert 3 == a[0]\ncheck(f)",
            True,
        ),
        ("a = [2, 1]\nb = a\nf(a)\nassert b == [1, 2]", False),
        ("a = [2, 1]\nassert f(a) == sorted(a)", False),
        ("a = [2, 1]\nf(a)\nassert (a == sorted(a)) == True", False),
        ("a = [2, 1]\nf(a)\nassert [x for x in a if x < 0] == []", False),
        ("a = [2, 1]\nif f(a):\n    assert a == [1, 2]", False),
        ("a = [2, 1]\ndef g(h):\n    return h(a)\nassert g(f) == [1, 2]", False),
        ("a: list = [2, 1]\nf(a)\nassert a == [1, 2]", False),
        ("a = [2, 1]\nassert len(set(f(a)) - set(a)) == 0", False),
    ],
)
def test_what_is_expected_is_written_where_no_program_has_a_part_in_it(tests, fixed):
    assert compare_with_fixed_values(tests, "f") is fixed


@pytest.mark.parametrize("tests", ["assert eval(f()) == 3", "import pickle\nassert pickle.loads(f()) == 3"])
def test_what_tests_may_execute_is_marked(graded, tests):
    body = "'1 + 2'" if "eval" in tests else "__import__('pickle').dumps(3)"
    judged = graded(tests, f"def f():\n    return {body}\n")
    assert (judged.reason, judged.marks) == (Reason.PASSED, (TESTS_INSIDE,))


@pytest.mark.parametrize(
    "tests",
    [
        "import numpy as np\na = [1, 2]\nassert np.setdiff1d(f(a), [1]).tolist() == [2]\nassert a == [1, 2]",
        "import numpy as np\nassert np.append(f([1]), [2]).tolist() == [1, 2]",
        "import random\nrandom.seed(7)\nx = [random.random()]\nassert f(x) == x",
        "import pandas\nd = pandas.DataFrame({'name': [1]})\nr = f(d)\nassert r.equals(d) and d['name'][0] == 1",
        "from pathlib import Path\nassert f([Path('a')]) == [Path('a')]",
        "class C:\n    def __init__(self, x): self.x = x\nassert f([C([1]).x]) == [[1]]",
        "import collections\nd = collections.Counter()\nd.setdefault(1, f([1])).append(2)\nassert d[1][1] == 2",
    ],
)
def test_words_that_set_nothing_are_no_mark(graded, tests):
    assert (graded(tests, "def f(x): return x[:]").reason, graded(tests, "def f(x): return x[:]").marks) == (
        Reason.PASSED,
        (),
    )


def test_the_name_of_the_function_is_no_mark():
    task = FunctionTask(prompt="", entry_point="walk", tests="a = [1]\nassert walk(a) == a", reference="")
    with Sandbox(Limits(cpu_s=1.0, wall_s=3.0), workers=1) as sandbox:
        judged = grade_by_tests(task, "def walk(x): return x[:]", sandbox)
    assert (judged.reason, judged.marks) == (Reason.PASSED, ())


RAISED = "try:\n    f(-1)\n    assert False\nexcept ValueError as error:\n    assert str(error) == 'bad: -1'"


@pytest.mark.parametrize(
    "program",
    [
        "class Bad(ValueError):\n    def __str__(self): return f'bad: {self.args[0]}'\n",
        "class Bad(ValueError):\n    def __init__(self, n): pass\n    def __str__(self): return 'bad: -1'\n",
        "def Bad(n): return ValueError(f'bad: {n}')\n",
        "class A(ValueError): pass\nclass Bad(A):\n    def __init__(self, n): super().__init__(f'bad: {n}')\n",
    ],
)
def test_what_an_exception_says_crosses(graded, program):
    assert graded(RAISED, f"{program}\ndef f(n):\n    raise Bad(n)\n").passed
    assert not graded(RAISED, "def f(n):\n    raise ValueError(n)\n").passed


def caught(call, kind):
    return f"seen = False\ntry:\n    {call}\nexcept {kind}:\n    seen = True\nassert seen"


CARRIED = "a = [-1]\nassert a is a\n"
"""With which values that can change are carried."""
ARGUMENTS = "try:\n    f(1)\n    assert False\nexcept ValueError as error:\n    assert error.args == ('bad',)"


@pytest.mark.parametrize(
    "argument",
    [
        "Exception('bad')",
        "type('Own', (), {'__str__': lambda self: 'bad'})()",
        "['bad', print]",
        "iter('bad')",
        "'bad', print",
    ],
)
@pytest.mark.parametrize("carried", ["", CARRIED])
def test_an_argument_of_an_exception_that_does_not_cross_is_no_text(graded, argument, carried):
    judged = graded(carried + ARGUMENTS, f"def f(x): raise ValueError({argument})")
    assert judged.reason is Reason.WRONG_ANSWER, judged
    said = carried + ARGUMENTS.replace("error.args == ('bad',)", "'bad' in str(error)")
    assert graded(said, f"def f(x): raise ValueError('bad', {argument})").passed
    assert graded(carried + ARGUMENTS, "def f(x): raise ValueError('bad')").passed


def test_the_file_that_could_not_be_opened_crosses(graded):
    tests = "import errno\ntry:\n    f('no such')\nexcept OSError as error:\n    "
    tests += "assert (error.filename, error.errno, len(error.args)) == ('no such', errno.ENOENT, 2)"
    assert graded(tests, "def f(x): return open(x)").passed
    assert not graded(tests, "def f(x): raise FileNotFoundError(2, 'No such file')").passed


GROUP = "ExceptionGroup('g', [ValueError(1), TypeError(print)])"


@pytest.mark.parametrize(
    "tests, raised, passes",
    [
        (caught("f(1)", "Exception"), GROUP, True),
        (caught("f(1)", "RuntimeError"), GROUP, False),
        (caught("f(1)", "Exception"), "BaseExceptionGroup('g', [KeyboardInterrupt()])", False),
    ],
)
@pytest.mark.parametrize("carried", ["", CARRIED])
def test_a_group_of_exceptions_is_caught_as_one(graded, tests, raised, passes, carried):
    judged = graded(carried + tests, f"def f(x): raise {raised}\n")
    assert judged.passed is passes
    assert judged.marks == ((TESTS_INSIDE,) if passes and carried else ())  # its members do not cross


@pytest.mark.parametrize(
    "tests, raised",
    [
        ("try: f(1)\nexcept ExceptionGroup: assert False\nexcept Exception: pass", GROUP),
        ("try: f(1)\nexcept BaseExceptionGroup: assert False\nexcept Exception: pass", GROUP),
        ("try: f(1)\nexcept* TypeError: assert False\nexcept* Exception: pass", GROUP),
        ("try: f(1)\nexcept StopIteration: assert False\nexcept Exception: pass", "StopIteration"),
        ("try: f(1)\nexcept Exception as e: assert not isinstance(e, StopIteration)", "StopIteration"),
    ],
)
@pytest.mark.parametrize("carried", ["", CARRIED])
def test_tests_that_name_what_another_exception_stands_for_are_in_doubt(graded, tests, raised, carried):
    assert graded(carried + tests, f"def f(x): raise {raised}\n").marks == (TESTS_INSIDE,)
    assert graded(carried + tests, "def f(x): raise ValueError\n").marks == ()


@pytest.mark.parametrize("tests", [
    "from datetime import timedelta\na = [timedelta(1)]\nassert f(a) == a and a[0].days == 1",
    "from datetime import timedelta\na = [timedelta(-1, 3)]\nb = f(a)\nb.append(timedelta(0))\nassert len(a) == 1",
])  # fmt: skip
def test_times_cross_beside_values_that_are_kept_in_step(graded, tests):
    judged = graded(tests, "def f(x): return x[:]")
    assert (judged.reason, judged.marks) == (Reason.PASSED, ())


def test_an_argument_that_does_not_cross_any_more_is_no_tampering(graded):
    tests = "import pandas\ns = pandas.Series([1], index=pandas.to_datetime(['2024-01-01']))\nassert f(s) == 1\n"
    program = "def f(s):\n    s.index = s.index.to_period('M')\n    return 1\n"
    assert graded(f"{tests}assert len(s) == 1", program, program).marks == (TESTS_INSIDE,)
    assert graded(f"{tests}assert len(s) == 2", program).reason is Reason.WRONG_ANSWER


def test_fold_and_zone_of_a_moment_cross(graded):
    tests = "import datetime, zoneinfo\nat = f(1)\nassert at.fold == 1 and at.tzname() == 'CET'\n"
    tests += "assert (at + datetime.timedelta(days=180)).utcoffset() == datetime.timedelta(hours=2)"
    moment = "import datetime, zoneinfo\n"
    moment += "def f(x): return datetime.datetime(2020, 10, 25, 2, 30, fold={fold}, tzinfo={zone})"
    berlin = "zoneinfo.ZoneInfo('Europe/Berlin')"
    assert graded(tests, moment.format(fold=1, zone=berlin)).passed
    assert not graded(tests, moment.format(fold=0, zone=berlin)).passed
    fixed = moment.format(fold=1, zone="datetime.timezone(datetime.timedelta(hours=1), 'CET')")
    assert not graded(tests, fixed).passed and graded(tests.partition("assert (at")[0], fixed).passed


def test_an_exception_of_a_package_is_known_by_its_name(graded):
    tests = "import json\ntry:\n    f('x')\n    assert False\nexcept json.JSONDecodeError as error:\n    pass"
    assert graded(tests, "import json\ndef f(x):\n    return json.loads(x)\n").passed
    assert not graded(tests, "def f(x):\n    raise ValueError(x)\n").passed


def test_no_exception_of_several_classes_has_memory_read_to_word_it():
    """CPython 3.11 reads before the bytes that a UnicodeDecodeError names a negative place of."""
    error = rebuild(("X",), ("AssertionError", "UnicodeDecodeError"), ("a", b"b", -5, -3, "c"), "X: y", {})
    assert type(error) is RuntimeError and str(error) == "X: y"


LAZY = {
    "generator": "def f(x):\n    if x: raise ValueError\n    yield",
    "generator that began": "def f(x):\n    yield 1\n    raise ValueError",
    "map": "def f(x): return map(int, ['z'])",
    "expression": "def f(x): return (int(one) for one in ['z'])",
    "zip": "def f(x): return [zip(map(int, 'z'))]",
    "own iterator": "class f:\n    def __init__(self, x): pass\n    def __next__(self): raise ValueError",
}
NO_ZONE = "import datetime\nclass Zone(datetime.tzinfo):\n    def utcoffset(self, _): raise ValueError\n"
NO_ZONE += "when = datetime.datetime(2020, 1, 1, tzinfo=Zone())\n"
HOOKS = {
    "time zone": NO_ZONE + "def f(x): return when",
    "time zone in an argument": NO_ZONE + "def f(x):\n    try: x.append(when)\n    except AttributeError: pass",
    "array": "import numpy\nclass Array(numpy.ndarray):\n    dtype = property(lambda self: int('z'))\n"
    "def f(x): return numpy.zeros(2).view(Array)",
    "masked": "import numpy\ndef f(x): return numpy.ma.masked",
    "class": "class Meta(type):\n    def __hash__(self): raise ValueError\n"
    "class Thing(metaclass=Meta): pass\ndef f(x): return Thing()",
    "system exit": NO_ZONE.replace("ValueError", "SystemExit") + "def f(x): return when",
}


@pytest.mark.parametrize("tests", [caught("f(-1)", "BaseException"), CARRIED + caught("f(a)", "BaseException")])
@pytest.mark.parametrize("program", [*LAZY.values(), *HOOKS.values()], ids=[*LAZY, *HOOKS])
def test_a_call_has_raised_only_what_it_raised_before_it_returned(graded, tests, program):
    assert are_plain(tests, "f") is not tests.startswith(CARRIED)
    assert not graded(tests, program).passed
    assert graded(tests, "def f(x): raise ValueError").passed


def test_what_fails_when_an_exception_is_sent_does_not_stand_for_it(graded):
    program = NO_ZONE + "def f(x):\n    x.append(when)\n    raise KeyError"
    assert not graded(CARRIED + caught("f(a)", "ValueError"), program).passed


OWN_ITERATOR = """class f:
    def __init__(self, x): self.x = iter(x)
    def __iter__(self): return self
    def __next__(self): return int(next(self.x))
"""
CONTEXT = (
    "class f:\n    def __init__(self, o): self.o = o\n    def __enter__(self): pass\n    def __exit__(self): pass"
)


@pytest.mark.parametrize("carried", ["", CARRIED + "f(a)\n"])
@pytest.mark.parametrize(
    "program",
    [
        "def f(x):\n    for one in x: yield int(one)",
        "def f(x): return map(int, x)",
        OWN_ITERATOR,
    ],
)
def test_an_iterator_raises_where_the_tests_come_to_it(graded, carried, program):
    tests = (
        f"{carried}r = f(['1', '2', 'z'])\nassert (next(r), next(r)) == (1, 2)\n{caught('next(r)', 'ValueError')}"
    )
    marks = (TESTS_INSIDE,) if carried else ()  # what was not read before
    assert (graded(tests, program).reason, graded(tests, program).marks) == (Reason.PASSED, marks)
    judged = graded(f"{tests}\nassert list(f(['3', 'z'])) == [3]", program)
    assert (judged.reason, "ValueError: invalid literal" in judged.detail) == (Reason.RUNTIME_ERROR, True)
    assert graded(tests, "def f(x): return iter([1, 2])").reason is not Reason.PASSED
    assert graded(tests, "def f(x): return iter([int(one) for one in x])").reason is not Reason.PASSED


@pytest.mark.parametrize(
    "program, ended",
    [
        ("class f:\n    def __init__(self, o): self.o = o", None),
        (CONTEXT, None),
        (OWN_ITERATOR, None),
        ("class f(tuple):\n    pass", None),
        ("class f:\n    def __init__(self, o): o.append(1)", Reason.WRONG_ANSWER),
    ],
)
def test_a_class_may_stand_for_a_function(graded, program, ended):
    tests = "o = []\np = f(o)\no.append(1)\nassert p is not None\nassert o == [1]"
    assert graded(tests, "def f(o): return (o,)").passed
    assert graded(tests, program).reason is (ended or Reason.PASSED)
    used = graded(f"{tests}\np.o", program)
    assert not used.passed and used.reason is not Reason.TAMPERING


@pytest.mark.parametrize("depth", [160, 190, 300, 150_000])
def test_a_value_that_is_nested_too_deeply_is_no_exception_of_the_call(graded, depth):
    program = f"def f(x):\n    for _ in range({depth}): x = [x]\n    return x"
    judged = graded(CARRIED + caught("f(a)", "RecursionError"), program)
    assert not judged.passed and judged.reason is not Reason.RUNTIME_ERROR
    deep = f"x = []\nfor _ in range({min(depth, 190)}): x = [x]\n{CARRIED}f(a)\n"
    assert not graded(deep + caught("f(x)", "RecursionError"), "def f(x): pass").passed


@pytest.mark.parametrize(
    "raises", ["next(iter(x))", "next(y for y in x)", "(_ for _ in ()).throw(GeneratorExit)", "[next(iter(x))]"]
)
def test_what_would_end_a_loop_is_no_other_exception(graded, raises):
    program = f"def f(x): return {raises}\n"
    judged = graded(caught("f([])", "RuntimeError"), program)
    assert judged.reason is Reason.RUNTIME_ERROR and judged.detail.split(",")[0] in (
        "StopIteration",
        "GeneratorExit",
    )
    assert graded("found = [f([]) for _ in range(2)]\nassert not found", program).reason is Reason.RUNTIME_ERROR
    caught_all = graded(caught("f([])", "Exception"), program)
    assert caught_all.passed is ("GeneratorExit" not in raises)


def test_what_does_not_cross_is_said_in_plain_words(graded):
    words = "what the program gave does not cross to the tests"
    for use in ("f(1).x", "f(1)()", "list(f(1))", "f(1) + 1"):
        judged = graded(f"assert {use}", "class Q:\n    x = 1\ndef f(n): return Q()")
        assert judged.reason is Reason.WRONG_ANSWER
        assert words in judged.detail and "Unsupported" not in judged.detail


@pytest.mark.parametrize(
    ("tests", "in_doubt"),
    [
        ("import builtins as _b\nassert _b.type(f(1)) is _b.int and _b.len([f(2)]) == 1", False),
        ("import builtins\nassert builtins.isinstance(f(1), int)", False),
        ("import builtins as _b\nf(1)\nassert _b.hidden", True),
        ("import builtins as _b\n_b.len = f", True),
        ("import builtins as _b\nassert f(_b) == 1", True),
        ("import builtins as _b\nfrom builtins import hidden\nassert _b.len([f(1)])", True),
        ("import builtins as _b\nassert _b.setattr(f, 'x', 1) is None", True),
    ],
)
def test_built_in_names_by_way_of_their_module_are_in_doubt_where_more_is_asked_of_it(tests, in_doubt):
    assert reads_state(tests, "f") is in_doubt
