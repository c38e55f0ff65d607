"""The configuration: what is wrong is named by file and field, and what is shipped is right."""

import functools
import json
import operator
import sys
from pathlib import Path
from random import Random

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from support.thorough import one_in
from truegrade.apps.evolve.objectives import CoralxObjectives, MeasuredObjectives
from truegrade.apps.evolve.settings import CONFIGS, CORALX, MEASURED, parse_settings, read_settings, shipped
from truegrade.cli import main
from truegrade.errors import BadRecord
from truegrade.profiles.coralx_objectives import WEIGHTS

sys.path.append(str(Path(__file__).parents[1]))
from coralx_spaces import ARCHIVE

GOOD = """
name = "x"
population = 4
[objectives]
names = ["solved"]
reference = { solved = 0.0 }
choose = "solved"
[search]
searcher = "nsga2"
[[baselines]]
searcher = "random"
[space]
ranks = [2, 4]
[training]
longest = 512
"""


def invoke(*arguments):
    return CliRunner().invoke(main, ["evolve", *map(str, arguments)])


@pytest.mark.parametrize(
    ("before", "after", "field", "message"),
    [
        ("population = 4", "populaton = 4", None, "unknown field `populaton`"),
        ("population = 4", "population = 0", "population", ">= 1"),
        ("population = 4", 'population = "4"', "population", "Expected `int`"),
        ('searcher = "nsga2"', 'searcher = "nsga3"', "search.searcher", "did you mean nsga2"),
        ('searcher = "nsga2"', 'searcher = "halving"', "search.searcher", "no searcher 'halving'"),
        ('searcher = "random"', 'searcher = "grpo"', "baselines.searcher", "no searcher 'grpo'"),
        ('searcher = "random"', 'searcher = "randon"', "baselines.searcher", "did you mean random"),
        ('searcher = "random"', 'searcher = "nsga2"', "baselines.name", "two searches are called 'nsga2'"),
        ('names = ["solved"]', 'names = ["solvd"]', "objectives.names", "did you mean solved"),
        ('names = ["solved"]', 'names = ["solved", "patch"]', "objectives.reference", "no number for 'patch'"),
        ('names = ["solved"]', "names = []", "objectives.names", "at least one"),
        ('choose = "solved"', 'choose = "weighted_sum"', "objectives.choose", "no score 'weighted_sum'"),
        ('choose = "solved"', "", "objectives.choose", "the field is missing"),
        ("ranks = [2, 4]", "ranks = [4, 2]", None, "not in rising order"),
        ("ranks = [2, 4]", "rank = [2, 4]", "space", "unknown field `rank`"),
        ("longest = 512", 'lessons = "coralx"', "training.lessons", "lessons are of quixbugs"),
        ("population = 4", "population = ", None, "not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, before, after, field, message):
    assert before in GOOD
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(before, after))
    with pytest.raises(BadRecord) as caught:
        read_settings(str(path))
    assert caught.value.field == field and message in str(caught.value) and str(path) in str(caught.value)
    answered = invoke(path)
    assert answered.exit_code == 2 and len(answered.output.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"\xff", 1, "not UTF-8"),
        (GOOD.encode() + b"# caf\xe9", 16, "not UTF-8"),
        (GOOD.encode("utf-16"), 1, "not UTF-8"),
        (b"name = " + b"9" * 2000, None, "Expected `str`, got `int`"),
        (b"seed = [\n" + b"[" * 2000, None, "nested too deeply"),
        (b"seed = " + b"{a=" * 600, None, "nested too deeply"),
        (b"a" + b".a" * 100_000 + b" = 1", None, "bytes, where a configuration has a few thousand"),
        (b"name = 'x'\na" + b".a" * 10_000 + b" = 1", 2, "longer than 2048 bytes"),
        (b"name = 'x'\n[" + b"a." * 1020 + b"a]", None, "unknown field `a`"),
        (b"\0", None, "not TOML"),
        (b"seed = " + b"9" * 5000, 1, "longer than 2048 bytes"),
        (b"x = 1e99999", None, "unknown field `x`"),
        (b"", None, "field 'name': the field is missing"),
    ],
)  # fmt: skip
def test_bytes_that_nobody_writes_are_one_sentence(tmp_path, content, line, message):
    path = tmp_path / "mine.toml"
    path.write_bytes(content)
    with pytest.raises(BadRecord, match=message) as caught:
        read_settings(str(path))
    assert caught.value.line == line and str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_a_byte_order_mark_is_passed_over(tmp_path):
    assert parse_settings(b"\xef\xbb\xbf" + GOOD.encode(), tmp_path / "mine.toml").name == "x"


VALUES = [
    "true", "-1", "0", "1", "9223372036854775808", "9" * 30, "0.5", "1e308", "inf", "-inf", "nan", '""', '"x"',
    '"\\u0000"', "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "[]", "{}", "[[]]", "[{}]", "{a=1}", "[1, 2]",
    "[2, 1]", "[nan, nan]", "[1.0, inf]", "[0, 0]", "[" * 50 + "]" * 50, "[" * 1000 + "]" * 1000, '["q_proj"]',
    "[1e-320, 1e308]", '["lora", "lora"]', "[1, 'x']", "[[1, 2], [3, 4]]",
]  # fmt: skip


def written(value):
    """A value as TOML; a text in a list of one stands for itself."""
    if isinstance(value, tuple):
        return value[0]
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {written(item)}" for key, item in value.items()) + "}"
    return f"[{', '.join(map(written, value))}]" if isinstance(value, list) else json.dumps(value)


def places(value, at=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*at, key)
        yield from places(item, (*at, key))


def whole(name):
    """A shipped configuration with every field of every table written out."""
    settings = msgspec.to_builtins(parse_settings((CONFIGS / f"{name}.toml").read_bytes(), Path(name)))
    settings["space"]["top_k"] = [1, 2]
    settings |= {"variant": "v", "workers": 1, "model_args": {"device": "cpu"}}
    settings["search"]["args"] = {"x": 1}
    return json.loads(json.dumps(settings))


@pytest.mark.parametrize(
    ("name", "turn"), one_in(8, [(name, turn) for name in ("micro", "coralx-quixbugs") for turn in range(4)])
)
def test_any_value_in_any_place_is_read_or_named(name, turn):
    """What is read can be hashed, and every axis of its space walked. In each turn a place has other values."""
    path, shipped = Path("mine.toml"), json.dumps(whole(name))
    for number, at in enumerate(places(whole(name))):
        for value in VALUES[(number + turn) % 4 :: 4]:
            document = json.loads(shipped)
            functools.reduce(operator.getitem, at[:-1], document)[at[-1]] = (value,)
            content = "".join(f"{key} = {written(item)}\n" for key, item in document.items())
            try:
                settings = parse_settings(content.encode(), path)
            except BadRecord as error:
                assert str(error).startswith("mine.toml") and "\n" not in str(error), (at, value)
            else:
                assert settings.sha256
                for axis in settings.space.dimensions:
                    gene = axis.step(axis.draw(Random(0)), Random(0))
                    assert axis.size and axis.read(gene) is not None, (at, value)


@given(st.data())
def test_any_bytes_of_a_configuration_changed_are_read_or_named(data):
    content = bytearray((CONFIGS / "micro.toml").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        pieces = st.sampled_from([b"[", b"{", b'"', b"nan", b"\xff", b"\n", b"="]) | st.binary(max_size=3)
        content[place : place + data.draw(st.integers(0, 8))] = data.draw(pieces)
    try:
        parse_settings(bytes(content), Path("mine.toml"))
    except BadRecord as error:
        assert "\n" not in str(error)


def test_names_of_objectives_are_those_that_are_scored():
    assert MeasuredObjectives.names == MEASURED and CoralxObjectives.names == CORALX


def test_all_shipped_configurations_read():
    assert set(shipped()) == {"micro", "micro-quick", "smollm2", "coralx-quixbugs"}
    for name in shipped():
        assert read_settings(name).name == name
    micro = read_settings("micro")
    assert micro.replicates == 5 and micro.roles.selection >= 256 and micro.objectives.names == ("solved",)
    assert micro.search.searcher == "expert-iteration" and micro.training.filter == "strict"
    assert {search.searcher for search in micro.baselines} == {"recipe", "random", "tpe", "nsga2", "coralx"}


def test_the_configuration_coralx_quixbugs_is_coralxs():
    seed = read_settings("coralx-quixbugs")
    own = {name: getattr(seed.space, name) for name in ARCHIVE.__struct_fields__ if name != "kinds"}
    assert own == {name: getattr(ARCHIVE, name) for name in own}
    assert set(seed.objectives.names) == set(WEIGHTS)
    assert (seed.training.lessons, seed.training.loss_on, seed.profile) == ("coralx", "all", "coralx")


def test_workers_decide_nothing():
    micro = read_settings("micro")
    assert msgspec.structs.replace(micro, workers=3).sha256 == micro.sha256
    assert msgspec.structs.replace(micro, seed=3).sha256 != micro.sha256


def test_init_writes_what_micro_is_and_never_over_a_file(tmp_path):
    path = tmp_path / "my.toml"
    assert invoke("--init", path).exit_code == 0
    assert parse_settings(path.read_bytes(), path) == read_settings("micro")
    again = invoke("--init", path)
    assert again.exit_code == 2 and "is there already" in again.output
    other = tmp_path / "seed.toml"
    assert invoke("coralx-quixbugs", "--init", other).exit_code == 0
    assert read_settings(str(other)) == read_settings("coralx-quixbugs")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["micr"], "did you mean micro"),
        (["absent.toml"], "--init"),
        ([], "name a configuration"),
        (["micro", "--quick"], "name no other"),
        (["micro", "--searcher", "nsga"], "did you mean nsga2"),
        (["micro", "--searcher", "optuna-nsga2"], "no searcher 'optuna-nsga2'"),
    ],
)
def test_commands_that_cannot_be_meant(arguments, message):
    answered = invoke(*arguments)
    assert answered.exit_code == 2 and message in answered.output
