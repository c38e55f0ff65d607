"""The table of paths: what each takes, and the few lines that connect it with what answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import msgspec

from truegrade.files.json_text import encode
from truegrade.records import SampleKey
from truegrade.web.http_refusals import Refusal
from truegrade.web.viewer import browsing, comparing, current, detail, listing, others, pages
from truegrade.web.viewer.run_catalogue import Catalogue
from truegrade.web.viewer.sample_table import OneSample, Tables

JSON, HTML, CSS, SCRIPT = (
    "application/json",
    "text/html; charset=utf-8",
    "text/css; charset=utf-8",
    "text/javascript; charset=utf-8",
)
OWN_PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)
"""The page of the viewer may ask this server, and nobody else."""
SANDBOXED = (
    "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline';"
    " img-src data:"
)
"""A report may have come from elsewhere with its folder: its scripts get no origin, so they can ask nobody."""


class Site:
    """Everything that requests share.

    Args:
        root: the folder of runs.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.catalogue = Catalogue(root)
        self.tables = Tables()
        self.reports = current.Reports()


class Reply(NamedTuple):
    """An answer that is not JSON."""

    body: bytes
    content_type: str
    policy: str = OWN_PAGE


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


class Route(NamedTuple):
    """A path."""

    takes: type[msgspec.Struct]
    handle: Callable[[Site, Any], msgspec.Struct | Reply]


def _page(_: Site, __: Nothing) -> Reply:
    return Reply(pages.frame().encode(), HTML)


def _style(_: Site, __: Nothing) -> Reply:
    return Reply(pages.style().encode(), CSS)


def _script(_: Site, __: Nothing) -> Reply:
    return Reply(pages.script().encode(), SCRIPT)


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


def _compare(site: Site, query: comparing.CompareQuery) -> comparing.Comparison:
    return comparing.compare([site.catalogue.folder(run, "run") for run in query.run], query)


def _others(site: Site, _: Nothing) -> others.Others:
    runs = [folder.path for folder in site.catalogue.folders("run")]
    return others.Others(
        evolutions=[others.evolution_line(folder) for folder in site.catalogue.folders("evolution")],
        audits=others.audit_lines(site.root, runs),
    )


def _report(site: Site, query: OneRun) -> Reply:
    line = site.catalogue.line(query.run)
    folder = site.catalogue.folder(query.run, "run")
    return Reply(site.reports.of(folder, line), HTML, SANDBOXED)


def _evolution(site: Site, query: OneEvolution) -> Reply:
    folder = site.catalogue.folder(query.evolution, "evolution")
    if "report.html" not in folder.files:
        raise Refusal(HTTPStatus.NOT_FOUND, f"{folder.id} has no report yet")
    return Reply((folder.path / "report.html").read_bytes(), HTML, SANDBOXED)


ROUTES: Mapping[str, Route] = MappingProxyType(
    {
        "/": Route(Nothing, _page),
        "/app.css": Route(Nothing, _style),
        "/app.js": Route(Nothing, _script),
        "/api/runs": Route(listing.RunQuery, _runs),
        "/api/run": Route(OneRun, _run),
        "/api/samples": Route(browsing.SampleQuery, _samples),
        "/api/sample": Route(SampleAsked, _sample),
        "/api/compare": Route(comparing.CompareQuery, _compare),
        "/api/others": Route(Nothing, _others),
        "/report": Route(OneRun, _report),
        "/evolution": Route(OneEvolution, _evolution),
    }
)


def answer(site: Site, path: str, query: str) -> Reply:
    """Answer a GET.

    Raises:
        Refusal: there is nothing of that path, or the query is not what it takes.
        UserError: a file of a run cannot be read.
    """
    route = ROUTES.get(path)
    if route is None:
        raise Refusal(HTTPStatus.NOT_FOUND, f"nothing at {path[:100]!r}; the page is at /")
    found = route.handle(site, _decoded(query, route.takes))
    return found if isinstance(found, Reply) else Reply(encode(found), JSON)


def _decoded(query: str, kind: type[msgspec.Struct]) -> msgspec.Struct:
    """A query string as its struct; a name given twice is a list where one is taken, else its last value."""
    several = {field.name for field in msgspec.structs.fields(kind) if _is_list(field.type)}
    try:
        given = parse_qs(query, keep_blank_values=True, errors="strict", max_num_fields=100)
        values = {name: of if name in several else of[-1] for name, of in given.items()}
        return msgspec.convert(values, kind, strict=False)
    except ValueError as error:  # msgspec's own errors are of this kind too
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, f"the query is not what this takes: {error}") from None


def _is_list(annotation: Any) -> bool:
    return isinstance(msgspec.inspect.type_info(annotation), msgspec.inspect.ListType)
