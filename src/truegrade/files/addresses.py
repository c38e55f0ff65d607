"""Addresses of services that may hold a key: what of them may be stored and shown, and what their keys are."""

from __future__ import annotations

import base64
import re
from urllib.parse import unquote, unquote_plus

_USER = re.compile(r"(?P<scheme>\w+://)(?P<user>[^\s/?#]*)@")
_VALUE = re.compile(r"(?P<name>[?&](?!api-version=)[^=&\s#]*=)(?P<value>[^&\s#]+)")
"""A value of a query; a version of an interface (Azure's) is none to hide."""
HIDDEN = "[key]"


def without_keys(text: str) -> str:
    """An address, or a text with addresses, without user, password and values of queries."""
    if "://" not in text:
        return text
    return _VALUE.sub(rf"\g<name>{HIDDEN}", _USER.sub(r"\g<scheme>", text))


def keys_in(address: str) -> tuple[str, ...]:
    """What an address holds that may not be shown, in every form in which a service can echo it; longest first."""
    found: set[str] = set()
    for match in _USER.finditer(address):
        user = unquote(match["user"])
        found |= {match["user"], user, match["user"].partition(":")[2], user.partition(":")[2]}
        found.add(base64.b64encode(user.encode()).decode())  # of the header ``Authorization: Basic``
    for match in _VALUE.finditer(address):
        found |= {match["value"], unquote_plus(match["value"])}
    return tuple(sorted(found - {""}, key=len, reverse=True))
