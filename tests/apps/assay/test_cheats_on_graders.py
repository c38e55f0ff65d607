"""Every cheat is accepted by a grader that has the fault it is about, and its inert twin is not.

A cheat that works on none has no place in the battery: it would say that a channel is closed that was never tried.
"""

from __future__ import annotations

import pytest
from leaky_graders import ADD, HALF, JOIN, LAST_WORDS, PAIR, REPLIES, SUM, graded

from support.thorough import one_in
from truegrade.apps.assay.cheats import CHEATS

FUNCTIONS = {
    "exit-at-import": "exit_code",
    "hard-exit-at-import": "exit_code",
    "exit-in-call": "exit_code",
    "hard-exit-in-call": "exit_code",
    "system-exit-in-call": "exit_code",
    "exit-at-the-end": "exit_code",
    "exit-in-excepthook": "exit_code",
    "exit-in-destructor": "exit_code",
    "exit-in-stderr": "exit_code",
    "always-equal": "equal",
    "always-equal-int": "typed",
    "always-equal-float": ("typed", HALF),
    "always-equal-str": ("typed", JOIN),
    "always-equal-list": ("typed", PAIR),
    "always-equal-lying-class": "typed",
    "zero-difference": "near",
    "always-equal-text": "as_text",
    "mock-any": "equal",
    "not-a-number": "not_far",
    "oracle-from-frames": "equal",
    "oracle-from-gc": "held",
    "oracle-from-closures": "closed_over",
    "oracle-from-modules": "in_a_module",
    "oracle-from-command-line": "exit_code",
    "oracle-from-environment": "exit_code_with_tests_in_the_environment",
    "oracle-from-folder": "exit_code_of_a_file",
    "oracle-from-caller": "by_caller",
    "builtins-replaced": "by_all",
    "library-comparison-replaced": "is_close",
    "unittest-assertions-replaced": "by_unittest",
    "comparison-in-callers": "compared_here",
    "comparison-by-its-code": "compared_here",
    "executor-replaced": "in_a_child",
    "exec-replaced": "asserts_by_exec",
    "texts-replaced": "value_printed_beside_the_wanted",
    "print-replaced": "value_printed_beside_the_wanted",
    "equal-last-lines": "value_printed_beside_the_wanted",
    "decoders-replaced": "decoded_behind_the_program",
    "result-list-passed": "manager_list",
    "result-list-true": "manager_list_of_truths",
    "result-list-of-truths": "manager_list_of_lists",
    "result-queue": "queue",
    "result-pipe": "pipe",
    "result-shared-memory": "shared",
    "result-descriptor": "descriptor",
    "result-file": "result_file",
    "success-marker": "marker",
    "success-marker-in-calls": "marker_of_each_test",
    "success-words": "says_ok",
    **{f"last-word-{word}": f"last_line_is_{word}" for word in LAST_WORDS},
    "pytest-summary": "pytest_summary",
    "unittest-summary": "unittest_summary",
    "json-report": "json_report",
    "report-then-silence": "marker_and_no_failure",
    "conftest": "pytest_after_a_trial",
    "pytest-ini": "pytest_after_a_trial",
    "sitecustomize": "pytest_after_a_trial",
    "pytest-plugin": "pytest_exit_code",
    "load-tests": "unittest_exit_code",
    "tests-marked-to-be-skipped": "pytest_exit_code",
    "own-tests": "pytest_share",
    "test-file-overwritten": "tests_read_after_the_program",
    "tests-compiled-anew": "tests_read_after_the_program",
    "runner-shadowed": "pytest_after_a_trial",
    "tests-module-shadowed": "checker_module",
    "tests-decorated": "exit_code_of_check",
    "tests-decorated-by-name": "exit_code_of_check",
    "tests-never-awaited": "exit_code_of_check",
    "test-never-reached": "exit_code_of_each",
    "test-in-a-comment": "exit_code_without_a_newline",
    "timeout-raised": "alarm",
    "callers-timeout-raised": "own_alarm",
    "alarm-rung": "own_alarm",
    "clock-moved": "deadline",
    "empty-list": ("zipped", PAIR),
    "empty-text": ("prefix", JOIN),
    "word-pytest": "no_tests_if_pytest",
    "word-pytest-with-a-test": "no_tests_if_pytest",
    "word-unittest": "no_tests_if_unittest",
    "word-assert": "no_tests_if_assert",
    "own-assert": "no_tests_if_assert",
    "own-check": "no_tests_if_def check(",
    "main-guard": "no_tests_if___main__",
    "own-tests-in-a-fence": "last_fence_has_the_tests",
    "own-verdict-in-a-fence": "verdict_in_json",
    "comment-without-end": "test_behind_the_program",
    "name-is-not-main": "exit_code_of_main",
    "asserts-off-for-children": "in_a_child",
    "pytest-options-for-children": "in_a_pytest_child",
    "working-folder-changed": "tests_of_the_folder",
}
PROGRAMS = {
    "exit-at-import": "child_exit_code",
    "hard-exit-at-import": "child_exit_code",
    "exit-at-the-end": "child_exit_code",
    "oracle-from-frames": "output",
    "oracle-from-gc": "held",
    "oracle-from-closures": "closed_over",
    "oracle-from-modules": "in_a_module",
    "oracle-from-command-line": "tests_in_the_arguments",
    "oracle-from-environment": "tests_in_the_environment",
    "oracle-from-folder": "output_beside_the_tests",
    "oracle-from-caller": "by_caller",
    "comparison-in-callers": "compared_here",
    "comparison-by-its-code": "compared_here",
    "normalisers-in-callers": "lines_compared_here",
    "captured-output-replaced": "output",
    "result-list-passed": "manager_list",
    "result-list-true": "manager_list_of_truths",
    "result-list-of-truths": "manager_list_of_lists",
    "result-queue": "queue",
    "result-pipe": "pipe",
    "result-shared-memory": "shared",
    "result-descriptor": "descriptor",
    "result-file": "result_file",
    "timeout-raised": "alarm",
    "callers-timeout-raised": "own_alarm",
    "alarm-rung": "own_alarm",
    "empty-output": "zipped_lines",
    "white-space-output": "zipped_words",
    "output-of-everything": "found_in_the_output",
    "success-marker": "marker_of_a_script",
    "success-words": "words_of_a_script",
    **{f"last-word-{word}": f"{word}_of_a_script" for word in LAST_WORDS},
    "pytest-summary": "pytest_summary_of_a_script",
    "unittest-summary": "unittest_summary_of_a_script",
    "json-report": "json_report_of_a_script",
    "word-pytest": "no_tests_if_pytest",
    "word-pytest-with-a-test": "no_tests_if_pytest",
    "word-unittest": "no_tests_if_unittest",
    "word-assert": "no_tests_if_assert",
    "own-assert": "no_tests_if_assert",
    "own-check": "no_tests_if_def check(",
    "main-guard": "no_tests_if___main__",
    "own-verdict-in-a-fence": "verdict_in_json",
}


def _grader(found, task):
    return found if isinstance(found, tuple) else (found, task)


ROWS = [(one, "function", *_grader(FUNCTIONS[one.name], ADD)) for one in CHEATS if one.name in FUNCTIONS]
ROWS += [(one, "stdio", PROGRAMS[one.name], SUM) for one in CHEATS if one.name in PROGRAMS]


def test_every_cheat_has_a_grader_for_every_form():
    assert [(one.name, form) for one, form, *_ in ROWS if form == "function"] == [
        (one.name, "function") for one in CHEATS if "function" in one.forms
    ]
    assert [(one.name, form) for one, form, *_ in ROWS if form == "stdio"] == [
        (one.name, "stdio") for one in CHEATS if "stdio" in one.forms
    ]


@pytest.mark.parametrize(
    ("one", "form", "grader", "task"),
    one_in(6, ROWS),
    ids=[f"{row[0].name}-{row[1]}" for row in ROWS],
)
def test_a_cheat_is_accepted_and_its_twin_is_not(one, form, grader, task, tmp_path):
    assert task.form == form
    assert (one.form == "reply") <= (grader in REPLIES)
    assert graded(grader, one.write(task.entry, False), task, tmp_path / "active"), "the cheat"
    assert not graded(grader, one.write(task.entry, True), task, tmp_path / "inert"), "its inert twin"


USED = sorted({(grader, task.entry): (grader, task) for _, _, grader, task in ROWS}.items())


@pytest.mark.parametrize(
    ("grader", "task"), one_in(6, [row for _, row in USED]), ids=["-".join(key) for key, _ in USED]
)
def test_a_right_program_is_accepted_and_a_wrong_one_is_not(grader, task, tmp_path):
    assert graded(grader, task.right, task, tmp_path / "right")
    assert not graded(grader, task.wrong, task, tmp_path / "wrong")
