"""Roles are disjoint by construction, drawn identically everywhere, and the final one is evaluated once."""

import pickle
import subprocess
import sys

import msgspec
import pytest

from support.thorough import one_in
from truegrade.apps.evolve.finishing import (
    FILE,
    Ledger,
    corrected_confidence,
    corrected_p,
    look_at_final,
    looks,
)
from truegrade.apps.evolve.genomes import is_one_token
from truegrade.apps.evolve.roles import (
    WITHOUT_JSON,
    Contamination,
    MicroSizes,
    Roles,
    fresh_mutants,
    micro_roles,
    quixbugs_roles,
    repair_of,
)
from truegrade.datasets.checkouts import TEST, TRAIN
from truegrade.errors import UserError
from truegrade.profiles.strict import Strict
from truegrade.records import Answer
from truegrade.sandbox import Sandbox

SMALL = MicroSizes(train=8, selection=6, final=6, forgetting=4)


@pytest.fixture(scope="module")
def micro():
    return micro_roles(5, SMALL)


def test_micro_roles_share_no_name_and_no_program(micro):
    seen: dict[str, str] = {}
    for role in ("train", "selection", "final", "forgetting"):
        for problem in getattr(micro, role):
            for mark in (repair_of(problem).name, *repair_of(problem).programs):
                assert seen.setdefault(mark, role) == role
    assert [len(getattr(micro, role)) for role in ("train", "selection", "final", "forgetting")] == [8, 6, 6, 4]
    ids = [problem.id for problem in (*micro.train, *micro.tested)]
    assert len(set(ids)) == len(ids)


def test_micro_roles_have_the_bug_classes_they_are_for(micro):
    def kinds(problems):
        return [(problem.tags["program"], problem.tags["bug"]) for problem in problems]

    assert set(kinds(micro.train)) == {("seen", "unseen")}
    assert kinds(micro.selection) == kinds(micro.final) == [("seen", "unseen"), ("unseen", "unseen")] * 3
    assert kinds(micro.forgetting) == [("seen", "seen"), ("unseen", "seen")] * 2


def test_the_seed_decides_whatever_the_process(micro):
    code = (
        "from truegrade.apps.evolve.roles import *; from truegrade.records import sha256_json;"
        "print(sha256_json(micro_roles(5, MicroSizes(train=8, selection=6, final=6, forgetting=4))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7"} | _path(),
    )
    from truegrade.records import sha256_json

    assert done.stdout.strip() == sha256_json(micro)
    other = micro_roles(6, SMALL)
    assert not {repair_of(p).buggy for p in other.train} & {repair_of(p).buggy for p in micro.train}


def _path():
    return {"PYTHONPATH": ":".join(sys.path)}


def test_contaminated_roles_cannot_be_made(micro):
    with pytest.raises(Contamination, match="CRITICAL: Training/test overlap detected"):
        msgspec.structs.replace(micro, selection=(*micro.selection, micro.train[0]))
    with pytest.raises(Contamination, match="CRITICAL"):
        msgspec.structs.replace(micro, forgetting=(micro.train[3],))
    with pytest.raises(Contamination, match="is for the final report, but micro-repair/selection/2 selects by it"):
        msgspec.structs.replace(micro, final=(micro.selection[2],))


def test_a_training_problem_is_never_scored(micro):
    for problem in micro.tested:
        micro.check(problem)
    with pytest.raises(Contamination, match=r"^CONTAMINATION: \w+ is training problem$"):
        micro.check(micro.train[1])


@pytest.fixture(scope="module")
def executor():
    with Sandbox(Strict.limits, workers=2) as sandbox:
        yield sandbox


@pytest.mark.slow
@pytest.mark.parametrize("json_only", one_in(2, [False, True]))
def test_roles_of_quixbugs(quixbugs, executor, json_only):
    problems = list(quixbugs.values())
    roles = quixbugs_roles(problems, Strict(), executor, seed=1, json_only=json_only, mutants=1)
    assert {repair_of(p).name for p in roles.selection} == TEST
    trained = {repair_of(p).name for p in roles.train}
    assert trained == (TRAIN - WITHOUT_JSON if json_only else TRAIN)
    graph = [p for p in roles.final if p.tags["fresh"] == "program"]
    mutants = [p for p in roles.final if p.tags["fresh"] == "mutant"]
    assert {repair_of(p).name for p in graph} == WITHOUT_JSON - trained
    assert len(graph) == (9 if json_only else 8)
    programs = {repair_of(p).name for p in mutants}
    assert programs == (TEST | WITHOUT_JSON) - {"reverse_linked_list"} and len(mutants) == 16  # it has none
    assert any("reverse_linked_list" in note for note in roles.notes)
    assert roles.overlaps().refused == ()


def test_missing_programs_are_not_made_up_for(quixbugs, executor):
    some = [problem for name, problem in quixbugs.items() if name not in {"gcd", "wrap"}]
    with pytest.raises(UserError, match="lacks gcd, which the division names"):
        quixbugs_roles([*some, quixbugs["wrap"]], Strict(), executor, seed=1)


@pytest.mark.slow
def test_fresh_mutants_fail_their_tests_and_are_drawn_by_the_seed(quixbugs, executor):
    chosen = [quixbugs[name] for name in ("possible_change", "shortest_paths", "to_base")]
    drawn = fresh_mutants(chosen, Strict(), executor, seed=3, per_program=2)
    assert [repair_of(p).name for p in drawn] == [name for p in chosen for name in [repair_of(p).name] * 2]
    for problem in drawn:
        repair = repair_of(problem)
        assert is_one_token(repair.reference, repair.buggy.split('\n\n"""')[0])
        assert not repair_of(quixbugs[repair.name]).programs - {next(iter(repair.programs))} >= repair.programs
        for program, passes in ((repair.buggy, False), (repair.reference, True)):
            judged = Strict().judgement(problem, Answer(value=program, found="test"), executor)
            assert judged.passed is passes, (problem.id, judged)
        assert '"""' in repair.buggy  # the specification stands behind it, as in the original
    assert drawn[:2] == fresh_mutants(chosen[:1], Strict(), executor, seed=3, per_program=2)
    other = fresh_mutants(chosen[:1], Strict(), executor, seed=4, per_program=2)
    assert {p.id for p in other} != {p.id for p in drawn[:2]}


def test_a_reference_that_fails_gives_no_mutants(quixbugs, executor):
    problem = quixbugs["to_base"]
    broken = msgspec.structs.replace(problem.task, reference=problem.task.buggy)
    with pytest.raises(UserError, match="quixbugs/to_base: its own reference fails"):
        fresh_mutants([msgspec.structs.replace(problem, task=broken)], Strict(), executor, seed=0)


def test_the_final_problems_are_looked_at_once(tmp_path):
    said: list[str] = []
    first = look_at_final(tmp_path, "a" * 64)
    assert first.number == 1 and looks(tmp_path) == (first,)
    assert look_at_final(tmp_path, "a" * 64) == first  # a killed report goes on
    with pytest.raises(UserError, match=r"were already evaluated on .* for another result"):
        look_at_final(tmp_path, "b" * 64)
    assert looks(tmp_path) == (first,)
    second = look_at_final(tmp_path, "b" * 64, again=True, notice=said.append)
    assert second.number == 2 and "evaluation 2" in said[0] and "97.5 % confidence" in said[0]
    assert looks(tmp_path) == (first, second)


def test_another_folder_is_no_way_round_the_one_look(tmp_path):
    """The record of a user's looks: by the hash of problems and base model, whatever folder the search is in."""
    path, said = tmp_path / "state" / FILE, []
    folders = [tmp_path / name for name in ("e1", "e2", "e3", "e4")]
    for folder in folders:
        folder.mkdir()

    def ledger(problems, settings):
        return Ledger(problems, settings, path=path, notice=said.append)

    assert look_at_final(folders[0], "one", ledger=ledger("final", "short")).number == 1
    same = ledger("final", "short")
    same.refuse_other()
    assert look_at_final(folders[1], "one", ledger=same).number == 1  # the same search elsewhere chose the same
    longer = ledger("final", "long")
    with pytest.raises(UserError, match=rf"already evaluated on .* in {folders[0]}"):
        longer.refuse_other()
    with pytest.raises(UserError, match="for another result"):
        look_at_final(folders[2], "two", ledger=longer)
    second = look_at_final(folders[2], "two", ledger=longer, again=True, notice=said.append)
    assert second.number == 2 and "evaluation 2" in said[-1]
    (folders[2] / FILE).unlink()  # nor is deleting the folder's own record
    assert look_at_final(folders[2], "two", ledger=longer, again=True).number == 2
    assert look_at_final(folders[1], "one", ledger=same).number == 1  # the first result is still resumed
    same.refuse_other()
    with pytest.raises(UserError, match=r"counts evaluation 3, .* to 98\.33 % confidence"):
        ledger("final", "longest").refuse_other()
    fresh = ledger("other problems or another base", "long")
    fresh.refuse_other()
    assert look_at_final(folders[3], "three", ledger=fresh).number == 1


def test_a_part_of_the_final_problems_is_no_way_round_the_one_look(tmp_path):
    """A set of another size begins with the same problems; two seeds share a few by chance."""

    def ledger(name, marks):
        return Ledger(name, name, marks=[str(mark) for mark in marks], path=tmp_path / "state" / FILE)

    folder = tmp_path / "out"
    folder.mkdir()
    assert look_at_final(folder, "one", ledger=ledger("hundred", range(100))).number == 1
    ledger("another seed", range(97, 197)).refuse_other()
    for marks in (range(200), range(50), range(90, 290)):
        with pytest.raises(UserError, match="counts evaluation 2"):
            ledger("other", marks).refuse_other()


def test_the_error_advises_no_way_round_the_one_look(tmp_path):
    look_at_final(tmp_path, "a" * 64)
    with pytest.raises(UserError) as refused:
        look_at_final(tmp_path, "b" * 64)
    assert "seed" not in str(refused.value) and "`out`" not in str(refused.value)


def test_intervals_and_p_values_are_corrected_for_the_looks():
    assert [corrected_confidence(look) for look in (1, 2, 5)] == [0.95, 0.975, 0.99]
    assert [corrected_p(0.02, look) for look in (1, 2)] == [0.02, 0.04] and corrected_p(0.4, 3) == 1.0


def test_a_ledger_that_cannot_be_written_is_said_and_stops_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    said: list[str] = []
    ledger = Ledger("final", "settings", path=tmp_path / "file" / FILE, notice=said.append)
    assert look_at_final(tmp_path, "one", ledger=ledger).number == 1
    assert "cannot be logged there" in said[0]


def test_of_two_processes_one_looks(tmp_path):
    code = (
        "import sys; from pathlib import Path; from truegrade.apps.evolve.finishing import look_at_final;"
        "look_at_final(Path(sys.argv[1]), sys.argv[2])"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name], stderr=subprocess.PIPE)
        for name in "ab"
    ]
    errors = [process.communicate()[1] for process in started]
    assert sorted(process.returncode for process in started) == [0, 1]
    assert sum(b"already evaluated on" in error for error in errors) == 1
    assert len((tmp_path / FILE).read_text().splitlines()) == 1


def test_roles_are_plain_records(micro):
    assert isinstance(micro, Roles)
    assert pickle.loads(pickle.dumps(micro)) == micro  # as they go to other processes
