"""The interface as an OpenAPI 3.1 document, generated from the structs that requests are decoded into."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from truegrade import __version__
from truegrade.web.application import JSON, PROBLEM
from truegrade.web.endpoint import OWN, Endpoint
from truegrade.web.http_refusals import ProblemDetails

REFUSED = {
    401: "The token is missing or wrong.",
    421: "Without a token: the name asked for is not a loopback one.",
}
WORK_REFUSED = {
    400: "The body is not JSON.",
    408: "The body did not arrive in time.",
    413: "The body is too large, or holds more gradings than the queue.",
    415: "The body is not called application/json.",
    422: "A field is not what it must be; `field` says which.",
}
OWN_REFUSED = {
    429: "The queue is full; `Retry-After` says when to come back.",
    503: "The service is stopping, or too many requests are under way.",
}
HELD_REFUSED = {
    500: "The grader failed, and nothing is known of the program; or the service did, and its log says why.",
    504: "No worker was done with it in time, or the service is stopping; ask again.",
}
"""Of routes whose clients would take the others for a verdict."""


def document(routes: Sequence[Endpoint]) -> dict[str, Any]:
    """The OpenAPI document of these endpoints."""
    kinds = {kind for route in routes for kind in (route.takes, route.gives) if kind is not None}
    ordered = sorted(kinds, key=lambda kind: kind.__name__)
    _, components = msgspec.json.schema_components(
        [*ordered, ProblemDetails], ref_template="#/components/schemas/{name}"
    )
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Truegrade grading service",
            "version": __version__,
            "description": "Grades model answers: programs run in a sandbox and are judged outside it.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(route: Endpoint) -> dict[str, Any]:
    refused = {} if route.public else dict(REFUSED)
    if route.takes is not None:
        refused |= WORK_REFUSED | (OWN_REFUSED if route.client == OWN else HELD_REFUSED)
    responses: dict[str, Any] = {"200": {"description": "Success.", "content": _content(route)}}
    for status, text in sorted(refused.items()):
        responses[str(status)] = {
            "description": text,
            "content": {PROBLEM: {"schema": _reference(ProblemDetails)}},
        }
    if route.path == "/readyz":
        stopping = HTTPStatus.SERVICE_UNAVAILABLE
        responses[str(stopping.value)] = {"description": "It is stopping.", "content": _content(route)}
    operation: dict[str, Any] = {
        "operationId": f"{route.method.lower()}{route.path.replace('/', '_').replace('.', '_')}",
        "summary": route.summary,
        "responses": responses,
    }
    if route.takes is not None:
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": _reference(route.takes)}}}
    if route.public:
        operation["security"] = []
    return operation


def _content(route: Endpoint) -> dict[str, Any]:
    if route.gives is None:
        return {route.text: {"schema": {} if route.text == JSON else {"type": "string"}}}
    return {JSON: {"schema": _reference(route.gives)}}


def _reference(kind: type[msgspec.Struct]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{kind.__name__}"}
