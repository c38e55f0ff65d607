"""The table of paths: what each takes, and the few lines that connect it with what answers."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path

import msgspec
from starlette.responses import HTMLResponse, Response

from truegrade.records import SampleKey
from truegrade.web.endpoint import Endpoint
from truegrade.web.http_refusals import Refusal
from truegrade.web.viewer import comparing, detail, listing, others, pages
from truegrade.web.viewer import detail as current
from truegrade.web.viewer import sample_table as browsing
from truegrade.web.viewer.run_catalogue import RunCatalogue
from truegrade.web.viewer.sample_table import OneSample, Tables

SANDBOXED = {
    "Content-Security-Policy": "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline';"
    " script-src 'unsafe-inline'; img-src data:"
}
"""A report may have come from elsewhere with its folder: its scripts get no origin, so they can ask nobody."""


class Site:
    """Everything that requests share.

    Args:
        root: the folder of runs.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.catalogue = RunCatalogue(root)
        self.tables = Tables()
        self.reports = current.Reports()


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of a path that takes none."""


class OneRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of ``/api/run`` and ``/report``."""

    run: str


class OneEvolution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of ``/evolution``."""

    evolution: str


class SampleAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of ``/api/sample``."""

    run: str
    task: str
    sample: int


def _page(_: Site, __: Nothing) -> Response:
    return HTMLResponse(pages.frame())


def _style(_: Site, __: Nothing) -> Response:
    return Response(pages.style(), media_type="text/css")


def _script(_: Site, __: Nothing) -> Response:
    return Response(pages.script(), media_type="text/javascript")


def _runs(site: Site, query: listing.RunQuery) -> listing.RunPage:
    return listing.page(site.catalogue.lines(), query)


def _run(site: Site, query: OneRun) -> detail.RunDetail:
    line = site.catalogue.line(query.run)
    return detail.read_detail(site.catalogue.folder(query.run, "run"), line)


def _samples(site: Site, query: browsing.SampleQuery) -> browsing.SamplePage:
    return browsing.page(site.tables.of(site.catalogue.folder(query.run, "run")), query)


def _sample(site: Site, query: SampleAsked) -> OneSample:
    table = site.tables.of(site.catalogue.folder(query.run, "run"))
    return table.open(SampleKey(query.task, query.sample))


def _compare(site: Site, query: comparing.CompareQuery) -> comparing.ComparisonPage:
    return comparing.compare([site.catalogue.folder(run, "run") for run in query.run], query)


def _others(site: Site, _: Nothing) -> others.Others:
    runs = [folder.path for folder in site.catalogue.folders("run")]
    return others.Others(
        evolutions=[others.evolution_line(folder) for folder in site.catalogue.folders("evolution")],
        audits=others.audit_lines(site.root, runs),
    )


def _report(site: Site, query: OneRun) -> Response:
    line = site.catalogue.line(query.run)
    folder = site.catalogue.folder(query.run, "run")
    return HTMLResponse(site.reports.of(folder, line), headers=SANDBOXED)


def _evolution(site: Site, query: OneEvolution) -> Response:
    folder = site.catalogue.folder(query.evolution, "evolution")
    if "report.html" not in folder.files:
        raise Refusal(HTTPStatus.NOT_FOUND, f"{folder.id} has no report yet")
    return HTMLResponse((folder.path / "report.html").read_bytes(), headers=SANDBOXED)


ROUTES: tuple[Endpoint, ...] = (
    Endpoint(path="/", takes=Nothing, handle=_page),
    Endpoint(path="/app.css", takes=Nothing, handle=_style),
    Endpoint(path="/app.js", takes=Nothing, handle=_script),
    Endpoint(path="/api/runs", takes=listing.RunQuery, handle=_runs),
    Endpoint(path="/api/run", takes=OneRun, handle=_run),
    Endpoint(path="/api/samples", takes=browsing.SampleQuery, handle=_samples),
    Endpoint(path="/api/sample", takes=SampleAsked, handle=_sample),
    Endpoint(path="/api/compare", takes=comparing.CompareQuery, handle=_compare),
    Endpoint(path="/api/others", takes=Nothing, handle=_others),
    Endpoint(path="/report", takes=OneRun, handle=_report),
    Endpoint(path="/evolution", takes=OneEvolution, handle=_evolution),
)
