"""An assay in this process: what is built, sent and counted, of problems whose answer is known."""

import json
import re

import pytest
from msgspec import structs
from targets_support import LEAKY, jailed

from truegrade.apps.assay import Battery, assay
from truegrade.apps.assay.folder import AssayFolder
from truegrade.apps.assay.opening import replay
from truegrade.errors import UserError
from truegrade.records import FunctionTask, OracleTask, Problem
from truegrade.settings import Silent

# Without changed outputs and forms of a reply: `test_assay_outputs` sends them, and each endless one takes 1 s.
CLASSES = ("right", "mutants", "stubs", "cheats", "must-fail")
SMALL = Battery(classes=CLASSES, per_problem=16, inputs=30, cheats_per_problem=2)


def problem(number, tests):
    name = f"between_{number}"
    task = FunctionTask(
        prompt=f"Return the values from low to high, both included, {number} times each, in order.",
        entry_point=name,
        tests=tests.replace("f(", f"{name}("),
        reference=f"def {name}(values, low, high):\n    kept = []\n    for value in values:\n"
        f"        if low <= value <= high:\n            kept.append({number} * value)\n    return sorted(kept)\n",
    )
    return Problem(id=f"own/{number}", benchmark="own", dataset_sha256="0" * 64, cluster=str(number), task=task)


STRONG = (
    "assert f([5, 1, 2, 9], 1, 5) == [2, 4, 10]\nassert f([-3, -1], -1, 0) == [-2]\nassert f([], 1, 2) == []\n"
    "assert f([1, 2, 3], 2, 2) == [4]\nassert f([4, 4, 3], 4, 9) == [8, 8]\n"
)
WEAK = "assert f([2], 1, 3) == [6]\n"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    out = tmp_path_factory.mktemp("assay") / "own"
    problems = [problem(2, STRONG), problem(3, WEAK)]
    (result,) = assay(problems=problems, profiles=["strict", "tests-inside"], battery=SMALL, out=out, workers=2)
    return result


def test_right_programs_pass_and_weak_tests_are_found(measured):
    strict = measured.measures[0]
    assert strict.grader.startswith("strict@")
    assert measured.tpr.value == 1
    by_problem = {each.problem_id: each for each in strict.per_problem}
    assert by_problem["own/2"].wrong_accepted < by_problem["own/3"].wrong_accepted
    assert by_problem["own/3"].wrong_accepted / by_problem["own/3"].wrong > 0.1
    assert measured.fpr["must-fail"].accepted == 0


def test_strict_is_not_forged_and_the_plain_rule_is(measured):
    strict, inside = measured.measures
    assert (strict.forgeable, strict.open_channels) == (False, ())
    assert inside.forgeable and "equality" in inside.open_channels
    assert (strict.flips.flips, inside.flips.flips) == (0, 0)
    assert inside.j_adversarial < strict.j.value


def test_a_package_that_is_not_installed_is_refused_before_anything_is_loaded():
    with pytest.raises(UserError, match="`packages` no-such-package: not installed; pip install no-such-package"):
        assay("no such benchmark either", grader="mine:reward", packages=("no-such-package",))


def test_every_wrong_label_is_repeated_by_its_witness(measured, tmp_path, monkeypatch):
    probes = [each for each in AssayFolder(measured.folder).probes() if each.kind in ("mutant", "stub")]
    wrong = [each for each in probes if each.label == "wrong"]
    assert len(wrong) > 10
    assert all(each.witness is not None for each in wrong)
    with pytest.raises(UserError, match="there is no probe"):
        replay(measured.folder, "no such probe")


def test_the_same_call_sends_nothing_again(measured):
    before = (measured.folder / "verdicts.jsonl").read_bytes()
    (again,) = assay(problems=[problem(2, STRONG), problem(3, WEAK)], profiles=["strict", "tests-inside"],
                     battery=SMALL, out=measured.folder)  # fmt: skip
    assert again.summary == measured.summary
    assert (measured.folder / "verdicts.jsonl").read_bytes() == before


def test_another_assay_is_refused_in_the_same_folder(measured):
    other = structs.replace(SMALL, seed=1)
    with pytest.raises(UserError, match="holds another assay"):
        assay(problems=[problem(2, STRONG)], profiles=["strict"], battery=other, out=measured.folder)


def test_a_larger_limit_goes_on_in_the_same_folder_and_a_smaller_one_counts_what_it_names(tmp_path, monkeypatch):
    """What was measured is measured once, and an assay of a part says nothing of the rest."""
    monkeypatch.chdir(tmp_path)
    few = Battery(classes=("right", "mutants"), per_problem=3, inputs=10)
    told: list[str] = []

    def measure_first(limit):
        (result,) = assay(["micro-repair"], limit=limit, battery=few, profiles=["strict"], workers=1,
                          notice=told.append)  # fmt: skip
        rows = [json.loads(line) for line in (result.folder / "verdicts.jsonl").read_bytes().splitlines()]
        return result, [row["probe"] for row in rows]

    one, first = measure_first(1)
    assert "1 new of 1 problems" in told[-1] and told[-1].endswith(" goes on in the same folder")
    three, rows = measure_first(3)
    assert three.folder == one.folder and "2 new of 3 problems" in told[-1]
    assert rows[: len(first)] == first and len(set(rows)) == len(rows) > len(first)
    assert (one.measures[0].problems, three.measures[0].problems) == (1, 3)
    notices = len(told)
    again, same = measure_first(1)
    assert same == rows and again.summary == one.summary and len(told) == notices
    assert measure_first(3)[0].summary == three.summary


def test_without_a_limit_a_benchmark_is_begun_with_eight_problems(tmp_path):
    told: list[str] = []
    with pytest.raises(KeyboardInterrupt):

        def stop(said: str) -> None:
            told.append(said)
            raise KeyboardInterrupt

        assay(["micro-repair"], profiles=["strict"], out=tmp_path / "x", workers=1, notice=stop)
    said = r"8 new of 8 problems \(\d+ in micro-repair\): about \d+ programs to strict@\d+, about \d+ min if one"
    assert re.match(said, told[0])
    assert re.search(r"; the same command with `limit` \d+ goes on in the same folder$", told[0])


def test_a_grader_can_be_added_later(measured):
    problems = [problem(2, STRONG), problem(3, WEAK)]
    (more,) = assay(grader=lambda program, tests: True, problems=problems, battery=SMALL, out=measured.folder)
    credulous = next(each for each in more.measures if "strict" not in each.grader and "inside" not in each.grader)
    assert credulous.fpr.value == 1
    assert credulous.j.value == 0
    found = {json.loads(line)["code"] for line in (measured.folder / "findings.jsonl").read_bytes().splitlines()}
    assert "must_fail_accepted" in found


def test_micro_repair_labels_can_be_replayed(tmp_path):
    out = tmp_path / "micro"
    few = Battery(classes=("right", "mutants"), per_problem=4, inputs=30)
    (result,) = assay(["micro-repair"], limit=1, battery=few, profiles=["strict"], out=out, workers=2)
    probe = next(each for each in AssayFolder(out).probes() if each.kind == "mutant" and each.label == "wrong")
    one, replayed = replay(out, probe.id[:10])
    assert one == probe
    assert replayed.differs
    assert replayed.got == probe.witness.got
    assert replayed.expected == probe.witness.expected
    assert result.benchmark == "micro-repair"


def test_a_comparison_that_accepts_anything_is_found(tmp_path):
    """EvalPlus' rule for Mbpp/164, in earlier releases of MBPP+: any value that does not raise is right."""
    reference = (
        "def div_sum(n):\n    return sum(d for d in range(1, n) if n % d == 0)\n\n\n"
        "def are_equivalent(one, other):\n    return div_sum(one) == div_sum(other)\n"
    )
    task = OracleTask(
        prompt="Check whether the sums of divisors of two numbers are the same.",
        entry_point="are_equivalent",
        reference=reference,
        base_inputs=((36, 57), (2, 4), (23, 47)),
        plus_inputs=((6, 25), (12, 26), (1, 1)),
        comparator="always",
    )
    strange = Problem(id="Mbpp/164", benchmark="mbppplus", dataset_sha256="0" * 64, cluster="Mbpp/164", task=task)
    ordinary = Problem(id="Mbpp/2", benchmark="mbppplus", dataset_sha256="0" * 64, cluster="Mbpp/2",
                       task=structs.replace(task, comparator="equal"))  # fmt: skip
    battery = Battery(classes=("right", "mutants", "stubs"), per_problem=16, inputs=40)
    (result,) = assay(problems=[strange, ordinary], profiles=["strict"], battery=battery, out=tmp_path / "a")
    fpr = {each.problem_id: each.wrong_accepted / each.wrong for each in result.measures[0].per_problem}
    assert fpr["Mbpp/164"] > 0.6
    assert fpr["Mbpp/2"] < 0.3
    found = {(each.code, each.problem_id) for each in result.findings}
    assert found & {("vacuous_comparison", "Mbpp/164"), ("accepts_anything", "Mbpp/164")}
    assert not {code for code, name in found if name == "Mbpp/2"} & {"vacuous_comparison", "accepts_anything"}


def test_a_grader_that_cannot_be_started_anew_is_sent_no_cheat_behind_one_that_stays(tmp_path):
    """The cheat that stays is named, and no other channel is judged by what it left behind."""
    asked, spoiled = [], []

    def grade(program, tests):
        asked.append(program)
        if "def __eq__(self" in program:
            spoiled.append(program)
        return bool(spoiled) or "sorted(kept)" in program

    battery = Battery(classes=("right", "cheats"), inputs=20)
    (result,) = assay(grader=grade, problems=[problem(2, STRONG)], battery=battery, out=tmp_path / "a", workers=1)
    [measure] = result.measures
    assert {one.channel for one in measure.channels if one.stays} == {"equality"}
    assert measure.open_channels == ()
    assert measure.forgeable  # the cheat that stays was itself paid
    assert sum(one.not_sent for one in measure.channels) > 40
    behind = asked[asked.index(spoiled[0]) + 1 :]
    assert all("sorted(kept)" in program or "NotImplementedError" in program for program in behind)


def test_problems_whose_tests_have_no_such_form_are_counted_with_the_form_that_holds_them(tmp_path):
    loop = "for n in range(3):\n    assert f([n], 0, 9) == [2 * n]\n"
    problems = [problem(2, loop), problem(3, STRONG.replace("[2, 4, 10]", "[3, 6, 15]"))]
    few = Battery(classes=("right", "stubs"), inputs=20)

    def grade(program, tests):
        return "sorted(kept)" in program

    (result,) = assay(grader=grade, problems=problems, battery=few, out=tmp_path / "a", workers=1)
    [found] = [each.sentence for each in result.findings if each.code == "tests_form"]
    assert found.startswith("1 problem left out (51 programs), such as own/2: its tests are more than assert")
    measure = result.measures[0]
    assert (measure.problems, measure.left_out, measure.unanswered) == (1, 1, {"tests_form": 51})
    assert sum(share.no_verdict for share in measure.shares) == 0
    assert found.endswith("; `tests_as=check` holds them")
    with pytest.raises(UserError, match="`tests_as=check` holds them"):
        assay(grader=grade, problems=problems[:1], battery=few, out=tmp_path / "b", workers=1)


@jailed
def test_a_reward_without_a_limit_is_timed_by_right_programs_and_what_does_not_end_costs_one_limit(
    tmp_path, monkeypatch
):
    """The time is told before the battery is sent, and each hang is said to be one."""
    monkeypatch.setattr("truegrade.apps.assay.targets.asking.LEAST_S", 1.0)
    (tmp_path / "rewards.py").write_text(LEAKY)
    told: list[str] = []
    battery = Battery(classes=("right", "mutants", "outputs", "stubs"), per_problem=6, inputs=20)
    (result,) = assay(problems=[problem(2, STRONG)], battery=battery, grader=f"{tmp_path}/rewards.py:reward",
                      out=tmp_path / "a", workers=2, notice=told.append)  # fmt: skip
    said = r"rewards.py:reward: a right program takes [\d.]+ m?s, and \d+ programs (less than 15|about .*) s; one"
    said += r" that does not end got no answer, so the \d+ others are not sent; no answer in 1 s \(`timeout_s`\)"
    assert re.search(said, told[-1])
    rows = [json.loads(line) for line in (result.folder / "verdicts.jsonl").read_bytes().splitlines()]
    assert rows[0]["wall_s"] is not None  # a reference
    late = [row for row in rows if row["passed"] is None and row.get("detail", "").startswith("grader_hung")]
    assert sum("no answer in 1 s" in row["detail"] for row in late) == 1 < len(late)
    assert next(share for share in result.measures[0].shares if share.kind == "output").no_verdict


@jailed
def test_a_grader_that_answers_nothing_behind_a_cheat_is_started_anew(tmp_path):
    """Otherwise no program behind it would get a verdict."""
    (tmp_path / "rewards.py").write_text(
        "spoiled = []\n"
        "def reward(program, tests):\n"
        "    if 'def __eq__(self' in program:\n"
        "        spoiled.append(program)\n"
        "    if spoiled:\n"
        "        raise RuntimeError('spoiled')\n"
        "    return 'sorted(kept)' in program\n"
    )
    battery = Battery(classes=("right", "cheats"), inputs=20)
    (result,) = assay(grader=f"{tmp_path}/rewards.py:reward", problems=[problem(2, STRONG)], battery=battery,
                      out=tmp_path / "a", workers=1)  # fmt: skip
    answered = {one.channel for one in result.measures[0].channels if one.probes}
    assert len(answered) > 8


@jailed
def test_what_is_known_is_told_once_where_it_did_not_change(tmp_path, monkeypatch):
    monkeypatch.setattr("truegrade.apps.assay.running.LONG_S", 0.0)
    (tmp_path / "rewards.py").write_text("def reward(program, tests):\n    return 1.0\n")
    told: list[str] = []
    battery = Battery(classes=("right", "cheats"), cheats_per_problem=1, inputs=5)
    assay(grader=f"{tmp_path}/rewards.py:reward", problems=[problem(2, STRONG)], out=tmp_path / "a", workers=1,
          notice=told.append, battery=battery)  # fmt: skip
    assert len([line for line in told if ", so far (" in line]) == 1, told


def test_what_is_known_is_told_where_an_assay_is_stopped(tmp_path):
    class Stopping(Silent):
        left = 9

        def advance(self, **_: object) -> None:
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt

    told: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        assay(grader=lambda program, tests: True, problems=[problem(2, STRONG)], out=tmp_path / "a", workers=1,
              progress=Stopping(), notice=told.append, battery=Battery(inputs=20))  # fmt: skip
    assert re.search(r"<lambda>, so far \(\d+ of \d+ programs\): CAN BE PAID WITHOUT SOLVING: ", told[-1])
    assert not (tmp_path / "a" / "summary.json").exists()
