"""`truegrade data change`: changed problems of benchmarks that ask for functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from truegrade.cli.options import (
    Number,
    base_url_option,
    data_options,
    echo,
    json_option,
    model_args_option,
    names_of,
    notice,
    print_json,
    progress_for,
    temperature_option,
    unsafe_option,
)

if TYPE_CHECKING:
    from truegrade.apps.changed.build import ChangedProblem, Jails, Worded
    from truegrade.records import Problem

_CPU_S = 3.0
_SECOND_SEED = 1


@click.command()
@click.argument("names", nargs=-1, required=True, metavar="BENCHMARK...")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), required=True, help="File to write.")
@click.option("--rules", callback=names_of, metavar="A,B,...",
              help="Change rules. [default: all; with --model the mutation operators]")  # fmt: skip
@data_options
@click.option("--show", type=click.IntRange(min=1), metavar="N",
              help="Print N changed problems, drawn by --seed, to be read.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, help="Seed of the draw of --show.")
@click.option("--model", "-m", help="Model that words the changed statements: provider/name.")
@click.option("--check-model", help="Model that must solve what was worded. [default: that of --model]")
@base_url_option
@model_args_option
@temperature_option
@click.option("--max-cost", "max_cost_usd", type=Number(min=0), help="Cost limit of each model in US dollars.")
@unsafe_option
@json_option
def change(
    names: tuple[str, ...],
    out: Path,
    seed: int,
    show: int | None,
    rules: tuple[str, ...],
    data: Path | None,
    task_args: dict[str, str],
    model: str | None,
    check_model: str | None,
    allow_unsafe: bool | None,
    as_json: bool,
    **asking: Any,
) -> None:
    """Change problems of benchmarks that ask for functions: each then asks for a mutant of its reference.

    Originals and changed problems stand side by side in the file, with what became of each printed.
    """
    from truegrade.apps.changed.build import change_problems, operator_rules
    from truegrade.apps.changed.rules import rules_named
    from truegrade.benchmarks import load_benchmark
    from truegrade.benchmarks.own_rows import rows_of_pairs
    from truegrade.datasets.executions import prepare
    from truegrade.errors import UserError
    from truegrade.files.json_text import encode
    from truegrade.store.manifest import write_atomically

    prepare(out)
    chosen = operator_rules() if model is not None and not rules else rules_named(rules or None)
    problems = [one for name in names for one in load_benchmark(name, data, task_args).problems]
    if check_model is not None and model is None:
        raise click.UsageError("--check-model goes with --model.")
    with _jails(problems, bool(allow_unsafe)) as jails, _wording(model, check_model, jails, **asking) as worded:
        found = list(_watched(change_problems(problems, chosen, jails, worded=worded), len(problems), as_json))
    pairs = [
        (one.original, one.task, one.change) for one in found if one.task is not None and one.change is not None
    ]
    if not pairs:
        _tell(found, as_json, None)
        raise UserError(f"{out}: not written, since no problem could be changed")
    rows = b"".join(encode(row) + b"\n" for row in rows_of_pairs(pairs))
    write_atomically(out, rows)
    _tell(found, as_json, out)
    if show is not None and not as_json:
        from random import Random  # its import takes a tenth of what --help takes

        drawn = Random(seed).sample([one for one in found if one.task is not None], min(show, len(pairs)))
        for number, one in enumerate(drawn, start=1):
            _show(number, one)


@contextmanager
def _jails(problems: Sequence[Problem], allow_unsafe: bool) -> Iterator[Jails]:
    from truegrade.apps.changed.build import Jails
    from truegrade.sandbox import Limits, Sandbox

    packages = tuple(sorted({name for problem in problems for name in problem.packages}))
    limits = Limits(cpu_s=_CPU_S, packages=(*Limits().packages, *packages))
    with (
        Sandbox(limits, 1, allow_unsafe=allow_unsafe) as first,
        Sandbox(limits, 1, allow_unsafe=allow_unsafe, hash_seed=_SECOND_SEED) as second,
    ):
        yield Jails(first, second)


@contextmanager
def _wording(
    model: str | None, check_model: str | None, jails: Jails, *, base_url: str | None, model_args: dict[str, Any],
    temperature: float | None, max_cost_usd: float | None,
) -> Iterator[Worded | None]:  # fmt: skip
    """How a model words statements; None without one."""
    if model is None:
        yield None
        return
    from truegrade.apps.changed.build import worded_by
    from truegrade.models import open_model
    from truegrade.pipeline.asking import Asker, require_price
    from truegrade.records.config import RequestPolicy, Sampling

    policy = RequestPolicy(max_cost_usd=max_cost_usd)
    with ExitStack() as stack:
        asks = []
        for name in dict.fromkeys((model, check_model or model)):
            opened = open_model(name, base_url=base_url, request_policy=policy, args=model_args)
            require_price(opened)
            asks.append(stack.enter_context(Asker(opened, Sampling(temperature=temperature))).ask)
        yield worded_by(asks[0], asks[-1], jails)


def _watched(found: Iterator[ChangedProblem], total: int, as_json: bool) -> Iterator[ChangedProblem]:

    watch = progress_for(as_json)
    watch.start("change", total=total, done=0)
    try:
        for one in found:
            watch.advance(failed=one.task is None)
            yield one
    finally:
        watch.finish()


def _tell(found: Sequence[ChangedProblem], as_json: bool, out: Path | None) -> None:
    """How many problems were changed by which rule, and why the others were not."""
    benchmarks = {
        name: Counter(
            "changed" if one.change else "not changed" for one in found if one.original.benchmark == name
        )
        for name in dict.fromkeys(one.original.benchmark for one in found)
    }
    kept = Counter(one.change.rule for one in found if one.change)
    refused = sum((one.refused for one in found), Counter[str]())
    thrown = Counter({why: times for why, times in refused.items() if ": " in why})
    unchanged = Counter(_why(one) for one in found if one.change is None)
    proposed = sum(one.proposed for one in found)
    counts = {"proposed": proposed, "kept": kept.total(), "thrown_away": thrown.total()}
    counts["not_needed"] = proposed - kept.total() - thrown.total()
    if as_json:
        told = {
            "benchmarks": benchmarks,
            "proposals": counts,
            "kept": kept,
            "thrown_away": thrown,
            "unchanged": unchanged,
        }
        print_json({"file": str(out) if out else None, **told})
        return
    for name, counted in benchmarks.items():
        echo(f"{name}: {counted['changed']} of {counted.total()} problems changed")
    for why, times in unchanged.most_common():
        echo(f"  {times:>5} not changed: {why}")
    echo(f"{counts['proposed']} changes run: {counts['kept']} kept, {counts['thrown_away']} thrown away,"
         f" {counts['not_needed']} not needed, since each problem is changed once")  # fmt: skip
    rules = dict.fromkeys([*(rule for rule, _ in kept.most_common()), *(why.partition(": ")[0] for why in thrown)])
    for rule in rules:
        whys = {
            why.partition(": ")[2]: times for why, times in thrown.most_common() if why.partition(": ")[0] == rule
        }
        reasons = "; ".join(f"{times} {why}" for why, times in whys.items())
        echo(f"  {kept[rule]:>5} by {rule}; thrown away: {reasons or 'none'}")
    if out is not None:
        notice(f"{out}: each changed problem behind its original; truegrade run {out} --model ...")


def _why(one: ChangedProblem) -> str:
    """Why a problem was not changed, in one reason: its own, or that every proposal was thrown away."""
    whole = [why for why in one.refused if ": " not in why]
    return whole[0] if whole else "every proposal was thrown away"


def _show(number: int, one: ChangedProblem) -> None:
    """A changed problem, to be read."""
    task, change = one.task, one.change
    assert task is not None and change is not None
    echo(f"\n=== {number}. {change.original} by {change.rule} ({change.kind}); differs on {change.differing} of "
         f"{change.tests} tests; {change.call} was {change.old}, is {change.new}")  # fmt: skip
    echo(task.prompt.strip("\n"))
    for test in task.shown_tests:
        echo(f"    {test}")
