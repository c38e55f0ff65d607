"""`truegrade --help`: every command stands under one heading."""

import re
from collections import Counter

import click
import pytest
from click.testing import CliRunner

from truegrade.cli import main
from truegrade.cli.commands import SECTIONS
from truegrade.cli.groups import with_apps
from truegrade.settings import RunSettings, settings_of


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


def options_of(said):
    """The first spelling of each option that a help lists."""
    return re.findall(r"^  (?:-\w, )?(--?[\w-]+)", said, re.MULTILINE)


@pytest.mark.parametrize("command", ["run", "grade"])
def test_help_shows_the_basic_options_under_headings_and_help_all_every_one(command):
    short, whole = (CliRunner().invoke(main, [command, flag]).stdout for flag in ("--help", "--help-all"))
    known = [each for each in main.commands[command].params if isinstance(each, click.Option)]
    shown, every = options_of(short), options_of(whole)
    assert len(shown) <= 14 and {"--as", "--data", "--out", "--help-all", "--help"} <= set(shown)
    assert len(every) == len(known) + 2 and set(shown) <= set(every)
    assert f"--help-all shows {len(every) - len(shown)} more options." in short
    assert "more options" not in whole
    assert all(f"{heading}:\n" in short for heading in ("Problems and rules", "Grading", "Other"))


def test_the_basic_options_are_marked_at_their_fields():
    basic = {each.name for each in settings_of(RunSettings) if each.option.basic}
    assert {"model", "base_url", "n", "temperature", "limit", "max_cost_usd"} < basic
    assert "reasoning_effort" not in basic
