"""`truegrade --help`: every command stands under one heading."""

import re
import shlex
from collections import Counter

import click
import pytest
from click.testing import CliRunner

from truegrade.cli import main
from truegrade.cli.commands import OTHER_NAMES, SECTIONS
from truegrade.cli.groups import with_apps
from truegrade.cli.listings import kinds
from truegrade.settings import RunSettings, settings_of


def test_every_command_stands_under_one_heading_but_the_four_that_are_hidden():
    named = [name for _, names in SECTIONS for name in names]
    commands = with_apps(main).commands
    assert {name for name, command in commands.items() if command.hidden} == {
        "completion",
        "exec",
        "schema",
        "serve-model",
    }
    assert set(named) == {name for name, command in commands.items() if not command.hidden}, "name it in SECTIONS"
    assert max(Counter(named).values()) == 1 and len(named) <= 16
    said = CliRunner().invoke(main, ["--help"]).stdout
    assert all(f"{heading}:" in said for heading, _ in SECTIONS) and "More:" not in said
    assert said.count("...") == 1, "a help text is cut"  # ARGS..., the usage
    assert re.findall(r"^  ([a-z][a-z-]*)  ", said, re.MULTILINE) == named


@pytest.mark.parametrize("name", sorted({*OTHER_NAMES, *kinds(), "profile", "benchmark", "searcher"}))
def test_a_name_of_an_earlier_version_or_another_tool_is_answered_with_the_right_one(name):
    done = CliRunner().invoke(main, [name, "x", "--claim", "67.7"])
    assert done.exit_code == 2 and done.stdout == "" and done.stderr.count("\n") == 1
    assert f"no command {name!r}; use `truegrade " in done.stderr
    for words in (shlex.split(line) for line in re.findall(r"`truegrade (.+?)`", done.stderr)):
        command = main
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            command = command.get_command(click.Context(command), words.pop(0))
        spellings = {each for option in command.get_params(click.Context(command)) for each in option.opts}
        assert {word for word in words if word.startswith("-")} <= spellings


def test_a_name_that_is_not_known_is_answered_with_the_closest():
    assert "did you mean grade" in CliRunner().invoke(main, ["grad"]).stderr


def test_the_first_line_names_the_included_model_where_none_is_asked_for(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        '{"id": 0, "prompt": "def f():", "entry_point": "f", "reference": "    return 1",'
        ' "tests": "assert f() == 1"}'
    )
    said = CliRunner().invoke(main, ["run", str(rows), "--out", str(tmp_path / "run")])
    first = "note: evaluating the included model, embedded/truegrade-micro; name another by --model"
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


def test_a_sentence_about_a_wrong_line_ends_before_the_next_begins():
    for words in (["compare"], ["list", "benchmarks", "--diff", "strict"], ["run"], ["run", "x", "--nosuch"]):
        said = CliRunner().invoke(main, words).stderr
        assert re.search(r"[.?)] See `main \w+ --help`\.\n$", said), said


def test_no_line_of_any_help_is_longer_than_80_columns():
    texts = {" ".join(path): text for path, text in _helps(("truegrade",), with_apps(main))}
    assert len(texts) > 20
    long = {name: line for name, text in texts.items() for line in text.splitlines() if len(line) > 80}
    assert not long


def _helps(path, command):
    context = click.Context(command, info_name=path[-1], terminal_width=80, max_content_width=80)
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from _helps((*path, name), command.get_command(context, name))
