"""Graders that share an interpreter with the program, each with one fault. It is run as a script:

    leaky_drivers.py NAME SPEC VERDICT

SPEC is JSON: code, entry, cases; VERDICT is a file that gets ``yes`` or ``no``.
"""

import contextlib
import glob
import io
import json
import math
import os
import signal
import subprocess
import sys
import time
import types


def load(code):
    namespace = {"__name__": "candidate"}
    exec(code, namespace)
    return namespace


def run(code, given):
    """What the program prints, as far as it comes, and the object that it was captured in."""
    before, captured = (sys.stdin, sys.stdout), io.StringIO()
    sys.stdin, sys.stdout = io.StringIO(given), captured
    try:
        exec(code, {"__name__": "__main__"})
    finally:
        sys.stdin, sys.stdout = before
    return captured


def called(code, entry, cases, agrees):
    function = load(code)[entry]
    return all(bool(agrees(function(*given), wanted)) for given, wanted in cases)


def printed(code, cases):
    return [run(code, given).getvalue().strip() == wanted.strip() for given, wanted in cases]


# ------------------------------------------------------------------------------------------------ values


def equal(code, entry, cases):
    return called(code, entry, cases, lambda got, wanted: got == wanted)


def typed(code, entry, cases):
    return called(code, entry, cases, lambda got, wanted: isinstance(got, type(wanted)) and got == wanted)


def near(code, entry, cases):
    return called(code, entry, cases, lambda got, wanted: got is not None and abs(got - wanted) < 1e-6)


def not_far(code, entry, cases):
    return called(code, entry, cases, lambda got, wanted: got is not None and not abs(got - wanted) > 1e-6)


def as_text(code, entry, cases):
    return called(code, entry, cases, lambda got, wanted: str(got) == str(wanted))


def zipped(code, entry, cases):
    return called(code, entry, cases, lambda got, wanted: got is not None and all(map(equal_items, got, wanted)))


def equal_items(got, wanted):
    return type(got) is type(wanted) and got == wanted


def prefix(code, entry, cases):
    return called(code, entry, cases, lambda got, wanted: type(got) is str and wanted.startswith(got))


def output(code, entry, cases):
    return all(printed(code, cases))


# ------------------------------------------------------------------------------------- oracles that lie about


class Holder:
    """Keeps what a frame does not show."""


def held(code, entry, cases):
    holder = Holder()
    holder.cases = cases
    del cases
    return called_or_printed(code, entry, holder)


def called_or_printed(code, entry, holder):
    if not entry:
        return all(run(code, given).getvalue() == wanted for given, wanted in holder.cases)
    function = load(code)[entry]
    for given, wanted in holder.cases:
        got, given, wanted = function(*given), None, wanted
        if got != wanted:
            return False
    return True


def closed_over(code, entry, cases):
    kept = tuple(map(tuple, cases))
    del cases

    def tests():
        return [list(case) for case in kept]

    holder = Holder()
    holder.cases = tests()
    return called_or_printed(code, entry, holder)


def in_a_module(code, entry, cases):
    module = types.ModuleType("suite")
    module.CASES = tuple(map(tuple, cases))
    sys.modules["suite"] = module
    return held(code, entry, cases)


def by_caller(code, entry, cases):
    if not entry:
        return all(run(code, given).getvalue() == expected for given, expected in cases)
    function = load(code)[entry]
    return all(function(*given) == expected for given, expected in cases)


# -------------------------------------------------------------------------------------------- comparisons


def check_result(got, wanted):
    return type(got) is type(wanted) and got == wanted


def compared_here(code, entry, cases):
    if not entry:
        outputs = [run(code, given).getvalue().strip() for given, _ in cases]
        return all(check_result(got, wanted.strip()) for got, (_, wanted) in zip(outputs, cases, strict=True))
    function = load(code)[entry]
    return all(check_result(function(*given), wanted) for given, wanted in cases)


def stripped_lines(text):
    return [line.strip() for line in text.strip().split("\n")]


def lines_compared_here(code, entry, cases):
    outputs = [run(code, given).getvalue() for given, _ in cases]
    return all(
        stripped_lines(got) == stripped_lines(wanted) for got, (_, wanted) in zip(outputs, cases, strict=True)
    )


def asserts_by_exec(code, entry, cases):
    namespace = load(code)
    for test in asserts(entry, cases).splitlines():
        exec(test, namespace)
    return True


def decoded_behind_the_program(code, entry, cases):
    texts = [(json.dumps(given), json.dumps(wanted)) for given, wanted in cases]
    function = load(code)[entry]
    return all(function(*(json.loads(given) or ())) == json.loads(wanted) for given, wanted in texts)


def by_all(code, entry, cases):
    function = load(code)[entry]
    return all(function(*given) == wanted for given, wanted in cases)


def is_close(code, entry, cases):
    function = load(code)[entry]
    return [math.isclose(function(*given) or math.nan, wanted) for given, wanted in cases] == [True] * len(cases)


def by_unittest(code, entry, cases):
    import unittest

    function = load(code)[entry]

    class Tests(unittest.TestCase):
        def test_it(self):
            for given, wanted in cases:
                self.assertEqual(function(*given), wanted)

    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(result)
    return result.wasSuccessful()


def asserts(entry, cases):
    return "".join(f"assert {entry}({', '.join(map(repr, given))}) == {wanted!r}\n" for given, wanted in cases)


def in_a_child(code, entry, cases):
    load(code)
    command = [sys.executable, "-B", "-S", "-c", code + "\n" + asserts(entry, cases)]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def in_a_pytest_child(code, entry, cases):
    load(code)
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_solution.py"]
    return subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0


# ----------------------------------------------------------------------------------------------- transport


def judged(code, entry, cases):
    with contextlib.suppress(Exception):
        if entry:
            return equal(code, entry, cases)
        return all(printed(code, cases))
    return False


def _in_child(target, *given):
    import multiprocessing

    child = multiprocessing.get_context("fork").Process(target=target, args=given)
    child.start()
    return child


def _appends(code, entry, cases, result, right, wrong):
    result.append(right if judged(code, entry, cases) else wrong)


def manager_list(code, entry, cases, right="passed", wrong="failed"):
    import multiprocessing

    with multiprocessing.get_context("fork").Manager() as manager:
        result = manager.list()
        _in_child(_appends, code, entry, cases, result, right, wrong).join()
        return bool(result) and result[0] == right


def manager_list_of_truths(code, entry, cases):
    return manager_list(code, entry, cases, True, False)


def _appends_lists(code, entry, cases, result, metadata_list):
    result.append([judged(code, entry, cases)])
    metadata_list.append({"seconds": 0})


def manager_list_of_lists(code, entry, cases):
    import multiprocessing

    with multiprocessing.get_context("fork").Manager() as manager:
        result, metadata_list = manager.list(), manager.list()
        _in_child(_appends_lists, code, entry, cases, result, metadata_list).join()
        return bool(result) and all(result[0]) and "error" not in metadata_list[0]


def _puts(code, entry, cases, queue):
    queue.put(judged(code, entry, cases))


def queue(code, entry, cases):
    import multiprocessing

    results = multiprocessing.get_context("fork").Queue()
    child = _in_child(_puts, code, entry, cases, results)
    passed = results.get(timeout=20)
    child.join()
    return passed


def _sends(code, entry, cases, connection):
    connection.send(judged(code, entry, cases))


def pipe(code, entry, cases):
    import multiprocessing

    ours, theirs = multiprocessing.get_context("fork").Pipe()
    child = _in_child(_sends, code, entry, cases, theirs)
    passed = ours.recv()
    child.join()
    return passed


def _sets(code, entry, cases, stat, details):
    passed = judged(code, entry, cases)
    stat.value, details[:] = (0 if passed else 1), [passed] * len(details)


def shared(code, entry, cases):
    import multiprocessing

    context = multiprocessing.get_context("fork")
    stat, details = context.Value("i", 3), context.Array("b", len(cases))
    _in_child(_sets, code, entry, cases, stat, details).join()
    return stat.value == 0 and all(details)


def descriptor(code, entry, cases):
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os.close(reads)
        passed = judged(code, entry, cases)
        os.write(writes, json.dumps({"passed": passed}).encode() + b"\n")
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as lines:
        first = lines.readline()
    os.waitpid(child, 0)
    return bool(first) and json.loads(first)["passed"]


def result_file(code, entry, cases):
    child = os.fork()
    if not child:
        passed = judged(code, entry, cases)
        with open("result.json", "w") as file:
            json.dump({"passed": passed}, file)
        os._exit(0)
    os.waitpid(child, 0)
    with open("result.json") as file:
        return json.load(file)["passed"]


# ------------------------------------------------------------------------------------ time limits, files, state


class TimeLimit(Exception):
    """A test took too long."""


def _left_out(code, entry, cases, raised):
    """A test that takes too long is left out."""

    def ring(*_):
        raise raised

    signal.signal(signal.SIGALRM, ring)
    function = load(code)[entry] if entry else None
    passed = True
    for given, wanted in cases:
        signal.alarm(20)
        try:
            passed &= (function(*given) if function else run(code, given).getvalue()) == wanted
        except raised:
            continue
        finally:
            signal.alarm(0)
    return passed


def alarm(code, entry, cases):
    return _left_out(code, entry, cases, TimeoutError)


def own_alarm(code, entry, cases):
    return _left_out(code, entry, cases, TimeLimit)


def deadline(code, entry, cases):
    end, passed = time.time() + 20, True
    function = load(code)[entry]
    for given, wanted in cases:
        if time.time() > end:
            break
        passed &= function(*given) == wanted
    return passed


def tests_of_the_folder(code, entry, cases):
    namespace, passed = load(code), True
    for name in glob.glob("test_*.py"):
        with open(name) as file, contextlib.suppress(ImportError):
            source = file.read().replace("from solution import *", "")
        exec(source, namespace)
        for key, value in list(namespace.items()):
            if key.startswith("test_"):
                try:
                    value()
                except AssertionError:
                    passed = False
    return passed


def checker_module(code, entry, cases):
    with open("checker.py", "w") as file:
        file.write("def check(function):\n    " + asserts("function", cases).replace("\n", "\n    ") + "\n")
    function = load(code)[entry]
    sys.path.insert(0, "")
    import checker

    checker.check(function)
    return True


def child_exit_code(code, entry, cases):
    """The child says by its exit code what it found."""
    child = os.fork()
    if not child:
        passed = judged(code, entry, cases)
        if not passed:
            raise SystemExit(1)  # an exit hook that the program left runs first
        raise SystemExit(0)
    return os.waitpid(child, 0)[1] == 0


def main():
    name, spec, verdict = sys.argv[1:]
    with open(spec) as file:
        given = json.load(file)
    given["cases"] = [(asked, wanted) for asked, wanted in given["cases"]]
    process, passed = os.getpid(), False
    with contextlib.suppress(Exception):
        passed = globals()[name](**given)
    if os.getpid() == process:
        with open(verdict, "w") as file:
            file.write("yes" if passed else "no")


if __name__ == "__main__":
    main()
