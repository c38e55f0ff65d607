"""Every option of the commands has a parameter of the same meaning and default in Python, by name."""

import inspect

import msgspec
import pytest

import truegrade
from truegrade import api
from truegrade.analysis.comparison import compare_runs
from truegrade.analysis.standings import plan, standings
from truegrade.api.pairs import run_all, run_suite
from truegrade.apps.assay import Battery, assay
from truegrade.apps.assay.correcting import corrected_runs
from truegrade.apps.assay.hardening import harden
from truegrade.apps.assay.opening import replay
from truegrade.apps.evolve.running import evolve
from truegrade.apps.evolve.settings import EvolutionSettings
from truegrade.apps.integrations.lm_eval import write_task
from truegrade.cli import main
from truegrade.cli.groups import with_apps
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.report.comparison_document import export_comparison
from truegrade.settings import DEFAULT_MODEL

ONLY_THERE = {"as_json", "open_page", "corrected", "fail_if", "show_call", "ungraded"}
"""How a command prints; Python is handed objects."""

FUNCTIONS = {
    "run": [run_suite, api.run, Sampling, RequestPolicy],
    "grade": [api.grade],
    "check": [api.check],
    "report": [api.report_files],
    "export": [write_task, api.export],
    "compare": [compare_runs, plan, standings, export_comparison],
    "evolve": [evolve, EvolutionSettings],
    "assay measure": [assay, Battery],
    "assay harden": [harden],
    "assay verdicts": [corrected_runs],
    "assay replay": [replay],
}
"""Command -> where its options go."""

OTHERWISE = {
    ("grade", "sources"): "completions",
    ("check", "what"): "path",
    ("report", "runs"): "run_",
    ("export", "what"): "run_",
    ("compare", "table"): "runs",
    ("compare", "planned"): "points",
    ("compare", "runs"): "runs",
    ("evolve", "config"): "settings",
    ("assay measure", "more"): "benchmarks",
    ("assay measure", "classes"): "battery",
    ("evolve", "quick"): "settings",
    ("evolve", "init"): "settings",
    ("evolve", "searcher"): "search",
    ("evolve", "no_baselines"): "baselines",
}
"""Options that make a part of an argument, or one of several of a kind."""

UNLESS_GIVEN = {"run": {"model": ((DEFAULT_MODEL,), DEFAULT_MODEL)}, "check": {"profile": (None, "strict")}}
"""Options that differ from the parameter in this alone: there may be several, or it depends on what is checked."""

TAKES = {"run": ["x"], "grade": ["x"], "check": ["1", "x"], "report": ["x"], "compare": ["x"],
         "export": ["x", "--format", "x"], "evolve": ["x"], "assay harden": ["x", "--out", "x"],
         "assay verdicts": ["."], "assay replay": [".", "x"]}  # fmt: skip
"""What each command cannot do without."""

NOTHING = (None, (), [], {}, "", False, inspect.Parameter.empty, msgspec.UNSET)
"""Nothing is said: no value, no values, a switch that is off."""


def parameters(command):
    """Python's parameters for a command, by name, with defaults."""
    found = {}
    for target in FUNCTIONS[command]:
        found |= {name: each.default for name, each in inspect.signature(target).parameters.items()}
    return found


def parser_of(command):
    """The click command of one or two words."""
    found = with_apps(main)
    for word in command.split():
        found = found.commands[word]
    return found


def same(command, given, default):
    """Whether an option left out says what a parameter left out says."""
    of_the_configuration = command == "evolve" and given is None
    return given == default or (given in NOTHING and default in NOTHING) or of_the_configuration


@pytest.mark.parametrize("command", FUNCTIONS)
def test_every_option_is_a_parameter_with_the_same_default(command, monkeypatch):
    monkeypatch.delenv("TRUEGRADE_ALLOW_UNSAFE", raising=False)
    known, parser = parameters(command), parser_of(command)
    options = [each for each in parser.params if each.name not in ONLY_THERE]
    assert [each.name for each in options if OTHERWISE.get((command, each.name), each.name) not in known] == []
    given = parser.make_context(command, list(TAKES.get(command, ()))).params
    differing = {
        each.name: (given[each.name], known[each.name])
        for each in options
        if not each.required
        and (command, each.name) not in OTHERWISE
        and not same(command, given[each.name], known[each.name])
    }
    assert differing == UNLESS_GIVEN.get(command, {})


@pytest.mark.parametrize("name", ["api", "truegrade"])
def test_no_public_function_hides_its_parameters(name):
    module = {"api": api, "truegrade": truegrade}[name]
    names = getattr(module, "__all__", None) or [each for each in vars(module) if not each.startswith("_")]
    functions = [each for each in (getattr(module, each) for each in names) if inspect.isfunction(each)]
    hidden = [
        (function.__name__, parameter.name)
        for function in functions
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    assert len(functions) >= 6
    assert hidden == []


@pytest.mark.parametrize(
    "function", [api.run, run_all, run_suite, api.generate, api.grade, api.check, api.report_files, api.export]
)
def test_every_parameter_is_documented(function):
    words = inspect.getdoc(function).partition("Args:")[2].partition("Raises:")[0]
    heads = [line.partition(": ")[0] for line in words.splitlines() if line[:4] == "    "]
    named = {name.strip() for head in heads for name in head.split(",")}
    assert [name for name in inspect.signature(function).parameters if name not in named] == []
