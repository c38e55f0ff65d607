import multiprocessing
import os
import signal
import time

import pytest

from truegrade.errors import BadRecord, UnknownName, UserError
from truegrade.pipeline.summary import read_summary
from truegrade.records import Completion, Reason, Verdict
from truegrade.records.config import GenerationConfig, Sampling
from truegrade.store import BenchmarkIdentity, Manifest, Run, environment
from truegrade.store.facts import sample_hash


def manifest(temperature=None, dataset="d" * 64, n=1):
    return Manifest(
        created="2026-01-01T00:00:00+00:00",
        benchmark=BenchmarkIdentity(name="humaneval", dataset_sha256=dataset, source="test", problems=2),
        generation=GenerationConfig(
            model="x/y", prompt_rule="strict@1", sampling=Sampling(temperature=temperature)
        ),
        samples_per_task=n,
        environment=environment(),
    )


def completion(sample, text="t", problem="HumanEval/0"):
    return Completion(
        benchmark="humaneval",
        dataset_sha256="d" * 64,
        problem_id=problem,
        sample=sample,
        config_sha256="c",
        prompt_sha256="p",
        text=text,
        model="m",
    )


def test_the_same_configuration_resumes_and_keeps_what_was_there(tmp_path):
    run = Run.create_or_resume(tmp_path / "r", manifest(n=5))
    run.record_grading("strict@6", 1)
    again = Run.create_or_resume(tmp_path / "r", manifest(n=2))
    assert again.manifest.samples_per_task == 5
    assert again.manifest.levels == {"strict@6": 1}
    assert again.manifest.created == run.manifest.created


def test_another_configuration_is_refused_by_the_name_of_what_differs(tmp_path):
    Run.create_or_resume(tmp_path / "r", manifest(temperature=0.2))
    with pytest.raises(UserError, match=r"sampling\.temperature \(0\.2 there, 0\.8 asked\)"):
        Run.create_or_resume(tmp_path / "r", manifest(temperature=0.8))
    with pytest.raises(UserError, match="dataset_sha256"):
        Run.create_or_resume(tmp_path / "r", manifest(temperature=0.2, dataset="e" * 64))


def test_a_folder_that_is_no_run_is_refused(tmp_path):
    with pytest.raises(BadRecord, match=r"manifest\.json.*no such file"):
        Run.open(tmp_path)


def test_a_newer_schema_is_refused(tmp_path):
    run = Run.create_or_resume(tmp_path, manifest())
    text = (tmp_path / "manifest.json").read_text().replace('"schema": 1', '"schema": 99')
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(BadRecord, match="newer"):
        Run.open(run.path)


def test_a_failed_sample_is_not_answered_until_a_later_line_answers_it(tmp_path):
    run = Run.create_or_resume(tmp_path, manifest())
    with run.append_completions() as journal:
        journal.append(completion(0, text=None))
        journal.append(completion(1, text=""))
    assert run.answered() == {sample_hash(completion(1))}
    with run.append_completions() as journal:
        journal.append(completion(0, text="now"))
    assert run.answered() == {sample_hash(completion(0)), sample_hash(completion(1))}


def test_an_unknown_graded_profile_names_those_there_are(tmp_path):
    run = Run.create_or_resume(tmp_path, manifest())
    run.append_verdicts("strict@6").close()
    run.record_grading("strict@6", None)
    assert run.profile_id(None) == run.profile_id("strict") == "strict@6"
    with pytest.raises(UnknownName, match="strict@6"):
        run.profile_id("stricd")


def test_one_writer_at_a_time(tmp_path):
    run = Run.create_or_resume(tmp_path, manifest())
    with run.locked(), pytest.raises(UserError, match="another process is writing"), Run.open(tmp_path).locked():
        pass
    with run.locked():
        pass


def append_for_ever(path):
    with Run.open(path).append_completions() as journal:
        for sample in range(10**9):
            journal.append(completion(sample, text="x" * 5000))


def test_kill_9_in_the_middle_of_writing_loses_no_whole_record(tmp_path):
    run = Run.create_or_resume(tmp_path, manifest())
    for _ in range(5):
        process = multiprocessing.get_context("fork").Process(target=append_for_ever, args=(tmp_path,))
        process.start()
        deadline = time.monotonic() + 180
        while not run.completions_path.exists() or run.completions_path.stat().st_size < 100_000:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        samples = [c.sample for c in run.completions()]
        assert samples == list(range(len(samples)))
        assert len(samples) > 10
        run.append_completions().close()
        assert run.completions_path.read_bytes().endswith(b"\n")
        run.completions_path.unlink()


def verdict(sample, passed, text="t", problem="HumanEval/0", **more):
    return Verdict(
        benchmark="humaneval",
        dataset_sha256="d" * 64,
        problem_id=problem,
        sample=sample,
        config_sha256="c",
        completion_sha256=completion(0, text).sha256,
        profile="strict@6",
        passed=passed,
        reason=Reason.PASSED if passed else Reason.WRONG_ANSWER,
        **more,
    )


def told_of(tmp_path, completions=(), verdicts=(), read=Run.completion_facts):
    run = Run.create_or_resume(tmp_path / "r", manifest(n=3))
    with run.append_completions() as journal:
        for record in completions:
            journal.append(record)
    with run.append_verdicts("strict@6") as journal:
        for record in verdicts:
            journal.append(record)
    run.record_grading("strict@6", 1)
    notices = []
    opened = Run.open(run.path, notice=notices.append)
    found = [list(read(opened)), list(read(opened))]
    assert found[0] == found[1]
    assert len(found[0]) == len(list(completions) or list(verdicts))
    return notices


def test_two_replies_to_one_sample_that_differ_are_told_once_with_their_lines(tmp_path):
    other = completion(0, "other")
    notices = told_of(tmp_path, [completion(0), completion(1), other, completion(1, "x"), other])
    assert len(notices) == 1
    assert "completions.jsonl: two records of one sample contradict each other" in notices[0]
    assert "(lines 1 and 3, HumanEval/0 sample 0, and 2 more such pairs)" in notices[0]


def test_the_same_reply_twice_and_a_failed_sample_that_was_asked_again_pass_in_silence(tmp_path):
    failed = completion(0, None)
    assert told_of(tmp_path, [failed, completion(0), failed, completion(0), completion(1)]) == []


def test_two_verdicts_on_one_sample_that_differ_are_told(tmp_path):
    both = [verdict(0, True, cpu_s=0.1), verdict(0, True, cpu_s=0.2), verdict(0, False)]
    notices = told_of(tmp_path, verdicts=both, read=Run.verdict_facts)
    assert "verdicts.strict@6.jsonl" in notices[0]
    assert "lines 1 and 3" in notices[0]
    assert told_of(tmp_path / "same", verdicts=both[:2], read=Run.verdict_facts) == []


@pytest.mark.parametrize("name", ["manifest.json", "summary.json"])
@pytest.mark.parametrize("content", [b"", b"\xff", b'"\\ud800"', b"[" * 100_000, b"3", b"{", b'{"a": NaN}'])
def test_a_damaged_file_of_a_run_is_one_sentence(tmp_path, name, content):
    run = Run.create_or_resume(tmp_path / "r", manifest())
    (run.path / name).write_bytes(content)
    with pytest.raises(UserError, match=name.replace(".", r"\.")) as caught:
        read_summary(Run.open(run.path))
    assert "\n" not in str(caught.value)


def test_the_last_reply_of_a_sample_is_read_from_where_it_lies(tmp_path):
    run = Run.create_or_resume(tmp_path, manifest(n=2))
    with run.append_completions() as journal:
        for each in (completion(0, "first"), completion(1, text=None), completion(0, "é\n")):
            journal.append(each)
    with run.completions_path.open("ab") as file:  # a torn line is cut off, a damaged one passed over
        file.write(b'{"torn')
    with run.append_completions() as journal:
        journal.append(completion(1, "last"))
    again = Run.open(tmp_path)
    damaged = run.completions_path.read_bytes().replace(b'"first"', b'"fxrst"')
    run.completions_path.write_bytes(damaged)
    for each in (run, again, Run.open(tmp_path)):
        with each.last_completions(lambda facts: facts.answered) as last:
            assert [last.of(completion(sample)).text for sample in (0, 1)] == ["é\n", "last"]
            assert last.of(completion(2)) is last.of(completion(0, problem="HumanEval/1")) is None
    with run.last_completions(lambda facts: False) as none:
        assert none.of(completion(0)) is None
