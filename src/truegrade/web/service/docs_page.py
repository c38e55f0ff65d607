"""``/docs``: the endpoints on one page, with nothing that is fetched from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from truegrade.report.markup import Markup, el, join
from truegrade.web.endpoint import Endpoint
from truegrade.web.service.messages import Health

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; text-align: left; }
td, th { padding: .3rem .8rem; border-bottom: 1px solid #8884; }
pre { background: #8882; padding: .8rem; overflow-x: auto; }
"""
EXAMPLE = """curl -s ADDRESS/v1/grade -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '{
  "problem": {"task": {"type": "function", "prompt": "", "entry_point": "double",
                       "tests": "assert double(2) == 4", "reference": ""}},
  "completions": [{"text": "```python\\ndef double(x):\\n    return 2 * x\\n```"}]
}'"""


def page(routes: Sequence[Endpoint], health: Health) -> str:
    """The page as HTML."""
    rows = [
        el("tr", el("td", el("code", f"{route.method} {route.path}")), el("td", route.summary),
           el("td", _name(route.takes)), el("td", _name(route.gives) or route.text),
           el("td", "" if route.public else "token"))
        for route in routes
    ]  # fmt: skip
    head = el("tr", [el("th", name) for name in ("endpoint", "", "takes", "gives", "needs")])
    body = el(
        "body",
        el("h1", "Truegrade grading service"),
        el("p", f"Version {health.version}; programs run at protection level {health.level}; {health.status}."),
        el("table", head, rows),
        el("p", "Every field is described in ", el("a", "openapi.json", href="/openapi.json"), "."),
        el("pre", EXAMPLE),
    )
    title = el("head", el("meta", charset="utf-8"), el("title", "Truegrade"), el("style", Markup(STYLE)))
    return join(Markup("<!doctype html>"), el("html", title, body, lang="en"))


def _name(kind: type | None) -> str:
    return "" if kind is None else kind.__name__
