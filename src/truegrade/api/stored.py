"""What is done with a run that is stored: opening it, reports, files of other tools, comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from truegrade.analysis.comparison import compare_runs
from truegrade.benchmarks.base import BenchmarkSpec
from truegrade.errors import UserError
from truegrade.pipeline.exporting import export_run
from truegrade.pipeline.importing import slug
from truegrade.pipeline.loading import load_for, narrow, problems_of, window_of
from truegrade.pipeline.summarise import summarise_part
from truegrade.pipeline.tracking import track
from truegrade.profiles import AnyProfile, find_profile
from truegrade.report.progress_lines import download_progress
from truegrade.statistics import PairedComparison
from truegrade.statistics.windows import EVERYTHING, check_cutoff
from truegrade.store import Run
from truegrade.store.exporters import Exporter, find_exporter
from truegrade.store.journal import ignore
from truegrade.store.trackers import open_trackers


def load(path: str | Path) -> Run:
    """Open a run from its folder, or from a pack of it.

    Raises:
        BadRecord: the folder holds no run, or the pack is damaged.
    """
    return Run.open(Path(path))


def report(run_: Run | str | Path) -> Path:
    """Write a run's ``report.html`` anew and return its path; `report_files` writes other formats, or a part.

    Raises:
        UserError: the run was not graded yet.
    """
    return report_files(run_)[0]


def report_files(
    run_: Run | str | Path,
    file_format: str = "html",
    *,
    window: Mapping[str, str] = EVERYTHING,
    cutoff: str | None = None,
    data: str | Path | None = None,
    out: str | Path | None = None,
    log_to: Sequence[str] = (),
) -> list[Path]:
    """Write a run's report as files, one for each table or figure, and return their paths.

    Args:
        run_: the run, or its folder.
        file_format: ``html`` (one page), ``png``, ``svg``, ``latex``, ``markdown``, ``csv``, ``parquet``,
            ``json``, ``bibtex``, ``model-index``, ``eval-results``.
        window: arguments of the benchmark that leave problems out, for a report on the others; the summary stays.
        cutoff: last day of the model's training data, ``YYYY-MM-DD``: contest problems are split by it.
        data: local data file or folder, for a window or a cut-off.
        out: the page, or the folder of the other formats' files; None for the run's own folder.
        log_to: as for `run`; the stored summary is logged.

    Raises:
        UserError: the run was not graded yet, the format is not known, or PNG cannot be made here; an argument
            is unknown, or leaves nothing.
        NotTracked: the files are written, and a tracker did not take the results.
    """
    from truegrade.report.export import export_report

    opened, trackers = run_ if isinstance(run_, Run) else load(run_), open_trackers(log_to)
    if not window and cutoff is None:
        return track(opened, trackers, export_report(opened, file_format, as_path(out)))
    if log_to:
        raise UserError("`log_to` logs whole runs: leave out `window` and `cutoff`")
    check_cutoff(cutoff)
    chosen = window_of(opened.manifest, window)
    problems = narrow(
        problems_of(opened, load_for(opened, None, as_path(data), ignore, download_progress)), chosen
    )
    summary = summarise_part(opened, problems, window=chosen, cutoff=cutoff)
    part = "-".join(f"{name}-{value}" for name, value in [*window.items(), ("cutoff", cutoff)] if value)
    own = opened.path / (f"report-{slug(part)}" + (".html" if file_format == "html" else ""))
    return export_report(opened, file_format, as_path(out) or own, summary)


def export(
    run_: Run | str | Path,
    file_format: str | Exporter,
    *,
    profile: AnyProfile | None = None,
    benchmark: str | BenchmarkSpec | None = None,
    data: str | Path | None = None,
    out: str | Path | None = None,
) -> Path:
    """Write a run as a file that another tool reads, and return its path.

    Args:
        run_: the run, or its folder.
        file_format: a name of `truegrade.store.exporters.EXPORTERS`, or an Exporter.
        profile: the rules that take the answers out of the replies, and whose verdicts are written; None for the
            format's own choice.
        benchmark: the benchmark file, of a run that was made elsewhere with one.
        data: local data file or folder.
        out: the file; None for the format's own name in the run's folder.

    Raises:
        UserError: a name or file is at fault, or the run lacks what the format needs.
    """
    rules = find_profile(profile or find_exporter(file_format).profile)
    opened = run_ if isinstance(run_, Run) else load(run_)
    problems = problems_of(opened, load_for(opened, benchmark, as_path(data), ignore, download_progress))
    return export_run(opened, problems, rules, file_format, as_path(out))


def compare(
    first: Run | str | Path,
    second: Run | str | Path,
    *,
    profile: str | None = None,
    force: bool = False,
    window: Mapping[str, str] = EVERYTHING,
) -> PairedComparison:
    """Compare two runs, paired by task: second minus first, with an interval.

    `truegrade.analysis.comparison.compare_runs` compares more of them, and profiles of one run.

    Args:
        first: the baseline.
        second: the contender.
        profile: under which rules; None if each run has only one.
        force: compare even what is not comparable.
        window: arguments of the benchmark that leave problems out.

    Raises:
        NotComparable: data set, profile, selected problems or prompt rule differ, or no problem is in both.
    """
    profiles = () if profile is None else (profile,)
    return compare_runs([first, second], profiles=profiles, force=force, window=window).pairs[0].paired


def as_path(value: str | Path | None) -> Path | None:
    """A path of what a caller gave."""
    return None if value is None else Path(value)
