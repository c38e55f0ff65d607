"""The viewer on a port: its page and paths; GET alone, and nothing that a page of somebody else's could use."""

from __future__ import annotations

from functools import cache, partial
from http import HTTPStatus
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import parse_qs, urlencode

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from truegrade.app import app_pages, in_one_line, resolve
from truegrade.apps.viewer import detail, run_catalogue, sample_table
from truegrade.apps.viewer.run_catalogue import Folder, RunCatalogue
from truegrade.apps.viewer.sample_table import OneSample, Tables
from truegrade.errors import UserError
from truegrade.records import SampleKey
from truegrade.report.charts.svg import asset
from truegrade.report.markup import el
from truegrade.report.page_parts import render_page
from truegrade.web.application import Endpoint, application, as_response, problem_response, route
from truegrade.web.messages import Refusal, check_host, is_loopback, listen
from truegrade.web.port import HttpServer

# ----------------------------------------------------------------------------------------------------------------
# The page of the viewer, put together of its own assets and those of the reports, so that both look the same.

_STYLES = ("colours.css", "chart.css", "report.css", "browser.css")
_SCRIPTS = ("theme.js", "detail.js")
_OWN_SCRIPTS = (
    "asking.js",
    "numbers.js",
    "runs.js",
    "samples.js",
    "run.js",
    "compare.js",
    "others.js",
    "routes.js",
)


@cache
def frame() -> str:
    """The HTML that the script fills, with links to the pages of apps."""
    links = [el("a", name, href=f"/app?{urlencode({'page': name})}") for name in app_pages()]
    return Template(_own("page.html")).substitute(pages=el("nav", links, aria_label="Pages") if links else "")


@cache
def style() -> str:
    """The style sheet of the reports, then the viewer's own."""
    return "\n".join((*map(asset, _STYLES), _own("viewing.css")))


@cache
def script() -> str:
    """What the reports' pages share, then the viewer's own, in the order they need each other."""
    return "\n".join((*map(asset, _SCRIPTS), *map(_own, _OWN_SCRIPTS)))


def _own(name: str) -> str:
    return files("truegrade.apps.viewer").joinpath("assets", name).read_text(encoding="utf-8")


# ------------------- The table of paths: what each takes, and the few lines that connect it with what answers.

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
        self.references = detail.ReferencePrograms()
        self.reports = detail.Reports(self.references)


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of a path that takes none."""


class OneRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of ``/api/run`` and ``/report``."""

    run: str


class OneEvolution(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of ``/evolution``."""

    evolution: str


class OnePage(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of ``/app``."""

    page: str


class OneFolder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of ``/page``."""

    folder: str


class SampleAsked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of ``/api/sample``."""

    run: str
    task: str
    sample: int


def _page(_: Site, __: Nothing) -> Response:
    return HTMLResponse(frame())


def _style(_: Site, __: Nothing) -> Response:
    return Response(style(), media_type="text/css")


def _script(_: Site, __: Nothing) -> Response:
    return Response(script(), media_type="text/javascript")


def _runs(site: Site, query: run_catalogue.RunQuery) -> run_catalogue.RunPage:
    return run_catalogue.page(site.catalogue.lines(), query)


def _run(site: Site, query: OneRun) -> detail.RunDetail:
    line = site.catalogue.line(query.run)
    return detail.read_detail(site.catalogue.folder(query.run, "run"), line)


def _samples(site: Site, query: sample_table.SampleQuery) -> sample_table.SamplePage:
    return sample_table.page(site.tables.of(site.catalogue.folder(query.run, "run")), query)


def _sample(site: Site, query: SampleAsked) -> OneSample:
    folder = site.catalogue.folder(query.run, "run")
    return site.tables.of(folder).open(SampleKey(query.task, query.sample), lambda: site.references.of(folder))


def _compare(site: Site, query: detail.CompareQuery) -> detail.ComparisonPage:
    return detail.compare([site.catalogue.folder(run, "run") for run in query.run], query)


def _others(site: Site, _: Nothing) -> detail.Others:
    runs = [folder.path for folder in site.catalogue.folders("run")]
    return detail.Others(
        evolutions=[detail.evolution_line(folder) for folder in site.catalogue.folders("evolution")],
        pages=[detail.page_line(folder) for folder in site.catalogue.folders("page")],
        audits=detail.audit_lines(site.root, runs),
    )


def _report(site: Site, query: OneRun) -> Response:
    line = site.catalogue.line(query.run)
    folder = site.catalogue.folder(query.run, "run")
    return HTMLResponse(site.reports.of(folder, line), headers=SANDBOXED)


def _evolution(site: Site, query: OneEvolution) -> Response:
    return _stored_page(site.catalogue.folder(query.evolution, "evolution"))


def _other(site: Site, query: OneFolder) -> Response:
    return _stored_page(site.catalogue.folder(query.folder, "page"))


def _stored_page(folder: Folder) -> Response:
    if folder.page not in folder.files:
        raise Refusal(HTTPStatus.NOT_FOUND, f"{folder.id} has no report yet")
    return HTMLResponse((folder.path / folder.page).read_bytes(), headers=SANDBOXED)


def _app_page(site: Site, query: OnePage) -> Response:
    """A page that an app makes of the folder.

    Raises:
        Refusal: 404, no app adds one of that name; 500, it failed.
        UserError: it cannot be imported, or refuses.
    """
    pages = app_pages()
    if query.page not in pages:
        raise Refusal(HTTPStatus.NOT_FOUND, f"no app adds a page {query.page[:200]!r}; the start page links all")
    app, target = pages[query.page]
    make = resolve(app, target)
    try:
        return HTMLResponse(render_page(make(site.root)), headers=SANDBOXED)
    except UserError:
        raise
    except Exception as error:
        told = f"the page {query.page!r} of the app {app.name} failed: {in_one_line(error)}"
        raise Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, told) from error


ROUTES: tuple[Endpoint, ...] = (
    Endpoint(path="/", takes=Nothing, handle=_page),
    Endpoint(path="/app.css", takes=Nothing, handle=_style),
    Endpoint(path="/app.js", takes=Nothing, handle=_script),
    Endpoint(path="/api/runs", takes=run_catalogue.RunQuery, handle=_runs),
    Endpoint(path="/api/run", takes=OneRun, handle=_run),
    Endpoint(path="/api/samples", takes=sample_table.SampleQuery, handle=_samples),
    Endpoint(path="/api/sample", takes=SampleAsked, handle=_sample),
    Endpoint(path="/api/compare", takes=detail.CompareQuery, handle=_compare),
    Endpoint(path="/api/others", takes=Nothing, handle=_others),
    Endpoint(path="/report", takes=OneRun, handle=_report),
    Endpoint(path="/evolution", takes=OneEvolution, handle=_evolution),
    Endpoint(path="/app", takes=OnePage, handle=_app_page),
    Endpoint(path="/page", takes=OneFolder, handle=_other),
)


# ---------------------- The viewer on a port: GET alone, and nothing that a page of somebody else's could use.

MAX_CONNECTIONS = 64
OWN_PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'"
)
"""The page of the viewer may ask this server, and nobody else."""
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class ViewServer(HttpServer):
    """Shows one folder of runs; a context manager, ended by a signal or `shutdown`.

    Args:
        root: the folder.
        host: address to listen at.
        port: 0 takes a free one, and so does one that is taken.

    Raises:
        UserError: there is no such folder, or the address cannot be listened at.
    """

    def __init__(self, root: Path, host: str = "127.0.0.1", port: int = 0) -> None:
        if not root.is_dir():
            raise UserError(f"{root}: no such folder; name the folder that holds your runs, or make one first with"
                            " truegrade run BENCHMARK")  # fmt: skip
        listener = listen(host, port, else_free=True)
        self.local_only = is_loopback(host)
        self._site = Site(root)
        super().__init__(
            _application(self._site, self.local_only),
            listener,
            max_connections=MAX_CONNECTIONS,
            headers=HEADERS,
        )

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"{super().url}/"

    def close(self) -> None:
        """Close the socket, and remove the reports that were made."""
        super().close()
        self._site.reports.close()


def _application(site: Site, local_only: bool) -> Starlette:
    def nowhere(request: Request, error: HTTPException) -> Refusal:
        if error.status_code == HTTPStatus.NOT_FOUND and request.method in {"GET", "HEAD"}:
            return Refusal(HTTPStatus.NOT_FOUND, f"nothing at {request.scope['path'][:100]!r}; the page is at /")
        return Refusal(
            HTTPStatus.METHOD_NOT_ALLOWED,
            "nothing can be changed here: GET",
            headers={"Allow": "GET", "Connection": "close"},  # a body may follow that nobody reads
        )

    return application(
        [route(it.path, partial(_answer, site, local_only, it), "GET", "HEAD") for it in ROUTES],
        nowhere,
        {
            UserError: lambda _, error: Refusal(HTTPStatus.CONFLICT, str(error)),
            FileNotFoundError: lambda _, error: Refusal(
                HTTPStatus.NOT_FOUND, f"{error.filename} is gone; the list shows what is left"
            ),
            **dict.fromkeys((OSError, ValueError, MemoryError), _unreadable),
        },
        tell=lambda refusal: _guarded(problem_response(refusal)),
    )


def _answer(site: Site, local_only: bool, endpoint: Endpoint, request: Request) -> Response:
    """Answer; Starlette calls this in a thread, since it reads files."""
    if local_only:
        check_host(request.headers.get("host", ""))
    assert endpoint.takes is not None
    found = endpoint.handle(site, _decoded(request.scope["query_string"].decode("ascii"), endpoint.takes))
    return _guarded(as_response(found))


def _guarded(response: Response) -> Response:
    response.headers.setdefault("Content-Security-Policy", OWN_PAGE)
    return response


def _unreadable(_: Request, error: Exception) -> Refusal:
    return Refusal(HTTPStatus.INTERNAL_SERVER_ERROR, f"cannot be read: {error}")


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
