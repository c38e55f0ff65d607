"""Builds graded runs on disk from a table of verdicts, with the store's own functions."""

from __future__ import annotations

import msgspec

from truegrade.pipeline.summary import summarise_run
from truegrade.profiles import Profile
from truegrade.records import Completion, FunctionTask, Problem, Reason, Verdict
from truegrade.store import BenchmarkIdentity, Manifest, Run
from truegrade.store.manifest import now

DATASET = "d" * 64


def rules(label):
    """A profile of that name; only its name and its counting matter here."""

    class Rules(Profile):
        name, version, summary, covers, rules = label, "1", "counts", ("toy",), ()

        def render_prompt(self, problem, variant=None, examples=None):
            raise NotImplementedError

        def extract(self, problem, completion):
            raise NotImplementedError

        def judgement(self, problem, answer, executor):
            raise NotImplementedError

    return Rules()


def make_run(path, tables, *, whole=None, benchmark="toy", prefix="Toy", reasons=None, ks=None, first=0):
    """A run graded under every profile of ``tables``: name -> rows of verdicts, one row a task.

    Args:
        first: number of the first task.
        whole: problems of the data set, where the run answers fewer.
        reasons: (task, sample) -> Reason of a failure, else wrong_answer.
    """
    rows = next(iter(tables.values()))
    names = [f"{prefix}/{number}" for number in range(first, first + len(rows))]
    problems = {name: _problem(name, benchmark) for name in names}
    n = max(map(len, rows))
    manifest = Manifest(
        created=now(),
        benchmark=BenchmarkIdentity(
            name=benchmark, dataset_sha256=DATASET, source="none", problems=whole or len(rows)
        ),
        imported_from="x",
        samples_per_task=n,
    )
    run = Run.create_or_resume(path, manifest)
    with run.append_completions() as journal:
        for name, row in zip(problems, rows, strict=True):
            for sample, _ in enumerate(row):
                journal.append(_completion(name, sample, benchmark))
    profiles = [rules(name) for name in tables]
    for profile, table in zip(profiles, tables.values(), strict=True):
        with run.append_verdicts(profile.id) as journal:
            for task, (name, row) in enumerate(zip(problems, table, strict=True)):
                for sample, passed in enumerate(row):
                    reason = (reasons or {}).get((task, sample), Reason.WRONG_ANSWER)
                    journal.append(_verdict(profile, name, sample, benchmark, bool(passed), reason))
        run.record_grading(profile.id, 3)
    run.write("summary.json", msgspec.json.encode(summarise_run(run, problems, profiles, ks)))
    return run


def _problem(name, benchmark):
    task = FunctionTask(prompt="", entry_point="f", tests="assert f()", reference="")
    return Problem(id=name, benchmark=benchmark, dataset_sha256=DATASET, cluster=name, task=task)


def _completion(name, sample, benchmark):
    return Completion(
        benchmark=benchmark,
        dataset_sha256=DATASET,
        problem_id=name,
        sample=sample,
        config_sha256="",
        prompt_sha256="",
        text="x",
        model="toy-1",
    )


def _verdict(profile, name, sample, benchmark, passed, reason):
    return Verdict(
        benchmark=benchmark,
        dataset_sha256=DATASET,
        problem_id=name,
        sample=sample,
        config_sha256="",
        completion_sha256="c",
        profile=profile.id,
        passed=passed,
        reason=Reason.PASSED if passed else reason,
        truncated=not passed and reason is Reason.TRUNCATED,
    )
