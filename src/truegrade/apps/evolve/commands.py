"""`truegrade evolve`: search for adapters of a model and compare them with baselines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from truegrade.cli.options import echo, exclude_seen_option, json_option, notice, print_json, unsafe_option

if TYPE_CHECKING:
    from truegrade.apps.evolve.settings import EvolutionSettings


@click.command()
@click.argument("config", required=False)
@click.option("--quick", is_flag=True, help="Use the configuration micro-quick, a short search.")
@click.option(
    "--init", type=click.Path(dir_okay=False, path_type=Path), help="Write an annotated configuration file."
)
@click.option("--searcher", help="Search strategy, instead of the configuration's.")
@click.option(
    "--generations",
    type=click.IntRange(min=1),
    help="Generations; times the population size this is the budget of every search.",
)
@click.option("--population", type=click.IntRange(min=1), help="Genomes per generation.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the splits, searches, training and sampling.")
@click.option(
    "--replicates", type=click.IntRange(min=1), help="Replicates of every search, each with its own seed."
)
@click.option("--no-baselines", is_flag=True, help="Do not run the baselines.")
@click.option("--out", type=click.Path(path_type=Path), help="Output folder. [default: runs/evolve-NAME-HASH]")
@click.option("--data", type=click.Path(path_type=Path), help="Local data file, or a folder that holds it.")
@click.option(
    "--adapters", type=click.Path(path_type=Path), help="Folder of trained adapters. [default: the cache]"
)
@click.option(
    "--workers", type=click.IntRange(min=1), help="Processes; the results do not depend on their number."
)
@click.option(
    "--again",
    is_flag=True,
    help="Evaluate the final problems again: counted, shown, and corrected for by wider intervals.",
)
@exclude_seen_option
@unsafe_option
@json_option
def evolve(
    config: str | None,
    quick: bool,
    init: Path | None,
    searcher: str | None,
    no_baselines: bool,
    allow_unsafe: bool | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Evolve LoRA and DoRA adapters: CONFIG is micro, micro-quick, smollm2, coralx-quixbugs or a TOML file.

    The same command goes on where it was stopped.
    """
    if init is not None:
        _write_config(init, config)
        return
    from truegrade.apps.evolve.reporting.page import write_report
    from truegrade.apps.evolve.reporting.search_material import gather
    from truegrade.apps.evolve.reporting.summary_text import LiveWatcher, print_summary
    from truegrade.apps.evolve.running import evolve as run

    names = ("generations", "population", "seed", "replicates")
    changes = {name: options.pop(name) for name in names}
    settings = _changed(_settings(config, quick), searcher, no_baselines, changes)
    folder, final = run(
        settings,
        watcher=None if as_json else LiveWatcher(),
        notice=notice,
        allow_unsafe=bool(allow_unsafe),
        **options,
    )
    material = gather(folder)
    page = write_report(material)
    if as_json:
        print_json({"folder": str(folder), "final": final})
    else:
        print_summary(material)
        echo(f"{folder}: best/ holds the adapter, final.json the numbers, {page.name} the report")


def _settings(config: str | None, quick: bool) -> EvolutionSettings:
    from truegrade.apps.evolve.settings import read_settings, shipped

    if config is not None and quick:
        raise click.UsageError("--quick is the configuration micro-quick: name no other")
    if config is None and not quick:
        raise click.UsageError(f"name a configuration: {', '.join(shipped())} or a TOML file (--init writes one)")
    return read_settings("micro-quick" if config is None else config)


def _changed(
    settings: EvolutionSettings, searcher: str | None, no_baselines: bool, changes: dict[str, Any]
) -> EvolutionSettings:
    """Settings with what the command line says otherwise."""
    import msgspec

    from truegrade.apps.evolve.searchers import check_searcher
    from truegrade.apps.evolve.settings import Search

    given = {name: value for name, value in changes.items() if value is not None}
    if searcher is not None:
        check_searcher(searcher)
        others = tuple(each for each in settings.baselines if each.title != searcher)
        given |= {"search": Search(searcher=searcher), "baselines": others}
    if no_baselines:
        given["baselines"] = ()
    return msgspec.structs.replace(settings, **given)


def _write_config(path: Path, config: str | None) -> None:
    """Write a shipped configuration, micro unless another is named, to begin with."""
    from truegrade.apps.evolve.settings import CONFIGS, shipped
    from truegrade.errors import UnknownName, UserError

    name = config or "micro"
    if name not in shipped():
        raise UnknownName("evolution", name, shipped())
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write((CONFIGS / f"{name}.toml").read_text(encoding="utf-8"))
    except FileExistsError:
        raise UserError(f"{path} is there already; name another file, or remove it first") from None
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; name another file") from None
    echo(f"{path}: edit it, then run truegrade evolve {path}")
