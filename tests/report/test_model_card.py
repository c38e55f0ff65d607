"""Results for the Hub: read back by the Hub's own client."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_runs import House, Lenient, build_run

from truegrade.errors import UserError
from truegrade.pipeline.summary import read_summary
from truegrade.report.export import as_yaml, export_report

yaml = pytest.importorskip("yaml")
hub = pytest.importorskip("huggingface_hub")

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    SCALARS | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc: -#@", min_size=1), inner),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return build_run(tmp_path_factory.mktemp("runs") / "run", profiles=(House(), Lenient()), model="toy/parrot")


def test_a_model_card_holds_every_estimate(run, tmp_path):
    (path,) = export_report(run, "model-index", tmp_path)
    card = hub.ModelCard(f"---\n{path.read_text()}---\n# A model\n")
    summary = read_summary(run)
    expected = [(p.profile, e) for p in summary.profiles for e in p.estimates]
    found = card.data.eval_results
    assert card.data.model_name == "parrot" and len(found) == len(expected)
    for result, (profile, estimate) in zip(found, expected, strict=True):
        assert (result.metric_type, result.metric_value) == (estimate.metric, estimate.value)
        assert result.metric_config == profile and result.metric_args["low"] == estimate.low
        assert result.dataset_name == "toy (12 of 15 problems)" and result.dataset_args["sha256"] == "d" * 64
        assert result.source_url
    written = yaml.safe_load(path.read_text())["model-index"]
    again = hub.repocard_data.eval_results_to_model_index("parrot", found)
    assert again == written


def test_eval_results_are_read_by_the_client_of_the_hub(run, tmp_path):
    whole = Path(build_run(tmp_path / "whole", profiles=(House(), Lenient())).path)
    manifest = json.loads((whole / "manifest.json").read_text())
    manifest["benchmark"] |= {"name": "humaneval", "problems": 12}
    (whole / "manifest.json").write_text(json.dumps(manifest))
    opened = type(run).open(whole)
    paths = export_report(opened, "eval-results", tmp_path / "model")
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == [
        "model/.eval_results/humaneval-house.yaml", "model/.eval_results/humaneval-lenient.yaml",
    ]  # fmt: skip
    written = yaml.safe_load(paths[0].read_text())
    (entry,) = hub.parse_eval_result_entries(written)
    estimate = read_summary(opened).profiles[0].estimates[0]
    assert entry.dataset_id == "openai/openai_humaneval" and entry.value == round(100 * estimate.value, 2)
    assert "house@1" in entry.notes and "confidence interval" in entry.notes
    assert hub.eval_result_entries_to_yaml([entry]) == written


@pytest.mark.parametrize(("name", "words"), [("toy", "data sets of the Hub"), ("humaneval", "12 of the 15")])
def test_what_the_hub_cannot_show_is_refused(run, tmp_path, name, words):
    copy = build_run(tmp_path / "run")
    manifest = json.loads((copy.path / "manifest.json").read_text())
    manifest["benchmark"]["name"] = name
    (copy.path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match=words):
        export_report(type(run).open(copy.path), "eval-results")


@settings(max_examples=25)
@given(VALUES)
def test_yaml_says_what_it_was_given(value):
    assert yaml.safe_load(as_yaml(value)) == value
