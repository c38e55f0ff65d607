"""`truegrade --help`: every command stands under one heading."""

from collections import Counter

from click.testing import CliRunner

from truegrade.cli import main
from truegrade.cli.commands import SECTIONS
from truegrade.cli.groups import with_apps


def test_every_command_stands_under_one_heading():
    named = [name for _, names in SECTIONS for name in names]
    assert set(named) == set(with_apps(main).commands), "name it in SECTIONS"
    assert max(Counter(named).values()) == 1
    said = CliRunner().invoke(main, ["--help"]).stdout
    assert all(f"{heading}:" in said for heading, _ in SECTIONS) and "More:" not in said
    assert said.count("...") == 1, "a help text is cut"  # ARGS..., the usage


def test_the_first_line_names_the_model_in_the_box_where_none_is_asked_for(tmp_path):
    said = CliRunner().invoke(main, ["run", "micro-repair", "--limit", "1", "--out", str(tmp_path / "run")])
    first = "note: evaluating the model in the box, embedded/truegrade-micro; name another by --model"
    assert said.stderr.splitlines()[0] == first
