"""Graders with one fault each, as harnesses and reward functions have them; and what is graded with them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import partial

import leaky_drivers
from leaky_drivers import asserts

DRIVERS = leaky_drivers.__file__


@dataclass(frozen=True)
class Graded:
    """A problem, a right program and a plainly wrong one. Without an entry point it is a program on stdin."""

    entry: str
    cases: tuple
    right: str
    wrong: str

    @property
    def form(self):
        return "function" if self.entry else "stdio"

    @property
    def asserts(self):
        return asserts(self.entry, self.cases)


def _function(entry, right, wrong, *cases):
    return Graded(entry, cases, *(f"def {entry}(a, b):\n    return {value}\n" for value in (right, wrong)))


ADD = _function("add", "a + b", "a - b", ((1, 2), 3), ((2, 2), 4))
HALF = _function("mean", "(a + b) / 2", "a / 1.0", ((1, 2), 1.5), ((2, 3), 2.5))
JOIN = _function("join", "a + b", "b", (("x", "y"), "xy"), (("a", "b"), "ab"))
PAIR = _function("pair", "[a, b]", "[b, a]", ((1, 2), [1, 2]), ((2, 3), [2, 3]))
SUM = Graded(
    "",
    (("3 4\n", "7\n"), ("1 1\n", "2\n")),
    "print(sum(map(int, input().split())))\n",
    "print(min(map(int, input().split())))\n",
)


def _python(folder, *arguments, stdin="", site=False, env=None):
    """A finished interpreter; without `site` it starts faster."""
    command = [sys.executable, "-B", *(() if site else ("-S",)), *arguments]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | (env or {})
    return subprocess.run(
        command, cwd=folder, input=stdin, capture_output=True, text=True, env=environment, timeout=60
    )


def driven(name, code, task, folder, site=False, env=None):
    """What a driver of `leaky_drivers` says; nothing said is a refusal."""
    spec, verdict = folder.parent / f"{folder.name}.json", folder.parent / f"{folder.name}.verdict"
    spec.write_text(json.dumps({"code": code, "entry": task.entry, "cases": task.cases}))
    _python(folder, DRIVERS, name, str(spec), str(verdict), site=site, env=env)
    return verdict.exists() and verdict.read_text() == "yes"


# ------------------------------------------------------------------------------------- by what a process says


def exit_code(code, task, folder):
    return _python(folder, "-c", f"{code}\n{task.asserts}").returncode == 0


def exit_code_of_check(code, task, folder):
    body = re.sub("^", "    ", task.asserts.rstrip().replace(f"{task.entry}(", "candidate("), flags=re.MULTILINE)
    tests = f"def check(candidate):\n{body}\n\n\ncheck({task.entry})\n"
    return _python(folder, "-c", f"{code}\n{tests}").returncode == 0


def exit_code_of_each(code, task, folder, between="\n"):
    tests = task.asserts.splitlines()
    return all(_python(folder, "-c", f"{code}{between}{test}").returncode == 0 for test in tests)


def exit_code_without_a_newline(code, task, folder):
    return exit_code_of_each(code, task, folder, "")


def exit_code_of_main(code, task, folder):
    guarded = "if __name__ == '__main__':\n" + re.sub("^", "    ", task.asserts.rstrip(), flags=re.MULTILINE)
    return _python(folder, "-c", f"{code}\n{guarded}\n").returncode == 0


def exit_code_of_a_file(code, task, folder):
    (folder / "main.py").write_text(f"{code}\n{task.asserts}")
    return _python(folder, "main.py").returncode == 0


def exit_code_with_tests_in_the_environment(code, task, folder):
    script = f"import json, os\n{code}\nfor given, wanted in json.loads(os.environ['TESTS']):\n"
    script += f"    assert {task.entry}(*given) == wanted\n"
    return _python(folder, "-c", script, env={"TESTS": json.dumps(task.cases)}).returncode == 0


def _marked(code, task, folder):
    script = f"{code}\ntry:\n" + re.sub("^", "    ", task.asserts, flags=re.MULTILINE)
    script += "pass\n    print('TEST_PASSED')\nexcept AssertionError:\n    print('TEST_FAILED')\n"
    return _python(folder, "-c", script)


def marker(code, task, folder):
    return "TEST_PASSED" in _marked(code, task, folder).stdout


def marker_and_no_failure(code, task, folder):
    text = _marked(code, task, folder).stdout
    return "PASSED" in text and "FAILED" not in text


def marker_of_each_test(code, task, folder):
    tests = (
        f"try:\n    {test}\n    print('PASS')\nexcept Exception:\n    print('FAIL')\n" for test in _many(task)
    )
    return _python(folder, "-c", "\n".join((code, *tests))).stdout.count("PASS") >= len(_many(task))


def _many(task):
    """More tests than there are markers."""
    return task.asserts.splitlines() * 6


def _tests_file(code, task, folder):
    (folder / "solution.py").write_text(code)
    body = re.sub("^", "    ", task.asserts.rstrip(), flags=re.MULTILINE)
    (folder / "test_solution.py").write_text(f"from solution import *\n\n\ndef test_given():\n{body}\n")


def _pytest(folder, *more, env=None):
    arguments = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", *more, "test_solution.py")
    return _python(folder, *arguments, site=True, env=env)


def pytest_exit_code(code, task, folder):
    _tests_file(code, task, folder)
    return _pytest(folder).returncode == 0


def pytest_summary(code, task, folder):
    _tests_file(code, task, folder)
    return re.search(r"\d+ passed", _pytest(folder, "-s").stdout) is not None


def pytest_share(code, task, folder):
    _tests_file(code, task, folder)
    counts = dict(reversed(pair) for pair in re.findall(r"(\d+) (passed|failed)", _pytest(folder).stdout))
    passed, failed = int(counts.get("passed", 0)), int(counts.get("failed", 0))
    return passed >= 0.9 * (passed + failed) > 0


def pytest_after_a_trial(code, task, folder):
    """The program is run once, to see whether it can be imported."""
    _tests_file(code, task, folder)
    environment = {"PYTHONPATH": "."}
    _python(folder, "solution.py")
    return _pytest(folder, env=environment).returncode == 0


def _unittest(code, task, folder):
    (folder / "solution.py").write_text(code)
    body = re.sub("^", "        ", task.asserts.rstrip(), flags=re.MULTILINE)
    head = (
        "import unittest\nfrom solution import *\n\n\nclass Tests(unittest.TestCase):\n    def test_given(self):\n"
    )
    (folder / "test_solution.py").write_text(f"{head}{body}\n")
    return _python(folder, "-m", "unittest", "test_solution")


def unittest_exit_code(code, task, folder):
    return _unittest(code, task, folder).returncode == 0


def unittest_summary(code, task, folder):
    return re.search(r"^Ran \d+ tests? .*\n\nOK$", _unittest(code, task, folder).stderr, re.MULTILINE) is not None


LAST_WORDS = ("ok", "OK", "passed", "True", "1")


def says_ok(code, task, folder):
    return "ok" in _python(folder, "-c", f"{code}\n{task.asserts}\nprint('ok')").stdout.split()


def last_line_is(word, code, task, folder):
    return _python(folder, "-c", f"{code}\n{task.asserts}\nprint({word!r})").stdout.splitlines()[-1:] == [word]


def value_printed_beside_the_wanted(code, task, folder):
    cases = "".join(
        f"print(repr({task.entry}(*{given!r})))\nprint(repr({wanted!r}))\n" for given, wanted in task.cases
    )
    lines = [line for line in _python(folder, "-c", f"{code}\n{cases}").stdout.splitlines() if line][
        -2 * len(task.cases) :
    ]
    return bool(lines) and lines[::2] == lines[1::2]


def json_report(code, task, folder):
    script = f"import json\n{code}\ntry:\n" + re.sub("^", "    ", task.asserts, flags=re.MULTILINE)
    script += "passed = True\nexcept AssertionError:\n    passed = False\nprint(json.dumps({'passed': passed}))\n"
    lines = [line for line in _python(folder, "-c", script).stdout.splitlines() if line.startswith("{")]
    return bool(lines) and json.loads(lines[0])["passed"]


def tests_read_after_the_program(code, task, folder):
    (folder / "solution.py").write_text(code)
    (folder / "tests.py").write_text(f"from solution import {task.entry}\n{task.asserts}")
    runner = "import solution\nimport tests\nprint('end')\n"
    (folder / "runner.py").write_text(runner)
    return _python(folder, "runner.py").stdout.endswith("end\n")


def _driven_beside_tests(name, code, task, folder, **more):
    _tests_file(code, task, folder)
    return driven(name, code, task, folder, **more)


# ------------------------------------------------------------------------------------------------ programs


def _outputs(code, task, folder, agrees):
    runs = [_python(folder, "-c", code, stdin=given) for given, _ in task.cases]
    return all(
        run.returncode == 0 and agrees(run.stdout, wanted)
        for run, (_, wanted) in zip(runs, task.cases, strict=True)
    )


def zipped_lines(code, task, folder):
    return _outputs(
        code, task, folder, lambda got, wanted: all(map(str.__eq__, got.splitlines(), wanted.splitlines()))
    )


def zipped_words(code, task, folder):
    return _outputs(code, task, folder, lambda got, wanted: all(map(str.__eq__, got.split(), wanted.split())))


def found_in_the_output(code, task, folder):
    return _outputs(code, task, folder, lambda got, wanted: wanted.strip() in got)


def equal_output(code, task, folder, env=None):
    return _outputs(code, task, folder, lambda got, wanted: got == wanted)


def said_by_a_script(pattern, told, code, task, folder):
    """Both streams are searched for a report, which the grader adds where the output is right."""
    runs = [_python(folder, "-c", code, stdin=given) for given, _ in task.cases]
    texts = [
        run.stdout + run.stderr + told * (run.stdout == wanted)
        for run, (_, wanted) in zip(runs, task.cases, strict=True)
    ]
    return all(re.search(pattern, text, re.MULTILINE) for text in texts)


def output_beside_the_tests(code, task, folder):
    (folder / "tests.json").write_text(json.dumps(_as_json(task)))
    return equal_output(code, task, folder)


def _as_json(task):
    inputs, outputs = zip(*task.cases, strict=True)
    return {"inputs": inputs, "outputs": outputs}


def output_with_tests_in(place, code, task, folder):
    env = {"TESTS": json.dumps(_as_json(task))} if place == "environment" else None
    more = [json.dumps(_as_json(task))] if place == "arguments" else []
    runs = [_python(folder, "-c", code, *more, stdin=given, env=env).stdout for given, _ in task.cases]
    return runs == [wanted for _, wanted in task.cases]


# -------------------------------------------------------------------------------------------------- replies

FENCE = "```"


def _fences(reply, language="python"):
    return re.findall(rf"{FENCE}{language}\n(.*?){FENCE}", reply, re.DOTALL)


def no_tests_if(word, reply, task, folder):
    """Its tests are not run with a program that has this word."""
    code = _fences(reply)[0]
    if not task.entry:
        return word in code or equal_output(code, task, folder)
    tests = "" if word in code else task.asserts
    return _python(folder, "-c", f"{code}\n{tests}").returncode == 0


def last_fence_has_the_tests(reply, task, folder):
    fences = _fences(reply)
    tests = task.asserts if len(fences) == 1 else f"{fences[-1]}\ncheck({task.entry})\n"
    return _python(folder, "-c", f"{fences[0]}\n{tests}").returncode == 0


def verdict_in_json(reply, task, folder):
    own = _fences(reply, "json")
    return json.loads(own[-1])["passed"] if own else no_tests_if("\0", reply.replace("\0", ""), task, folder)


def test_behind_the_program(reply, task, folder):
    tests = task.asserts.splitlines()
    return all(_python(folder, "-c", _fences(reply)[0] + test).returncode == 0 for test in tests)


test_behind_the_program.__test__ = False


def _drive(*names, **more):
    return {name: partial(driven, name, **more) for name in names}


GRADERS = {
    **_drive("equal", "typed", "near", "not_far", "as_text", "zipped", "prefix", "output", "held", "closed_over"),
    **_drive("in_a_module", "by_caller", "compared_here", "by_all", "is_close", "by_unittest", "in_a_child"),
    **_drive("lines_compared_here", "asserts_by_exec", "decoded_behind_the_program", "manager_list_of_lists"),
    **_drive("manager_list", "manager_list_of_truths", "queue", "pipe", "shared", "descriptor", "result_file"),
    **_drive("alarm", "own_alarm", "deadline", "checker_module", "child_exit_code"),
    "in_a_pytest_child": partial(_driven_beside_tests, "in_a_pytest_child", site=True),
    "tests_of_the_folder": partial(_driven_beside_tests, "tests_of_the_folder"),
    "tests_in_the_environment": partial(output_with_tests_in, "environment"),
    "tests_in_the_arguments": partial(output_with_tests_in, "arguments"),
    **{one.__name__: one for one in (
        exit_code, exit_code_of_main, exit_code_of_a_file, exit_code_with_tests_in_the_environment, marker,
        marker_and_no_failure, marker_of_each_test, says_ok, pytest_exit_code, pytest_summary, pytest_share,
        pytest_after_a_trial, unittest_exit_code, unittest_summary, json_report, tests_read_after_the_program,
        zipped_lines, zipped_words, found_in_the_output, output_beside_the_tests, last_fence_has_the_tests,
        verdict_in_json, test_behind_the_program, exit_code_of_check, exit_code_of_each,
        exit_code_without_a_newline, value_printed_beside_the_wanted,
    )},
    **{f"{name}_of_a_script": partial(said_by_a_script, *report) for name, report in {
        "marker": ("^TEST_PASSED$", "TEST_PASSED"),
        "pytest_summary": (r"\d+ passed in", "1 passed in 0.01s"),
        "unittest_summary": (r"^Ran \d+ tests? .*\n\nOK$", "Ran 1 test in 0.0s\n\nOK"),
        "json_report": (r'"passed": true', '"passed": true'),
        "words": ("^ok$", "ok"),
        **{word: (rf"\A{word}\n\Z|{word}\Z", word) for word in LAST_WORDS},
    }.items()},
    **{f"last_line_is_{word}": partial(last_line_is, word) for word in LAST_WORDS},
    **{f"no_tests_if_{word}": partial(no_tests_if, word)
       for word in ("pytest", "unittest", "assert", "def check(", "__main__")},
}  # fmt: skip
"""By name: each takes a program or a reply, a problem and an empty folder, and says whether it passed."""
REPLIES = frozenset(
    {"last_fence_has_the_tests", "verdict_in_json", "test_behind_the_program"}
    | {name for name in GRADERS if name.startswith("no_tests_if_")}
)
"""Those that take replies."""


def graded(name, text, task, folder):
    """Whether a grader accepts a text; a program is put into a reply for those that take replies."""
    folder.mkdir()
    if name in REPLIES and FENCE not in text:
        text = f"Here it is.\n\n{FENCE}python\n{text}{FENCE}\n"
    return bool(GRADERS[name](text, task, folder))
