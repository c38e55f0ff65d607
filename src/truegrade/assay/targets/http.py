"""Graders behind an HTTP address; nothing of them can be jailed, so they are sent harmless probes by default."""

from __future__ import annotations

import ipaddress
import json
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from truegrade.assay.targets.asking import OneByOneTarget, ProbeAsker
from truegrade.assay.targets.calls import ProbeQuestion
from truegrade.assay.targets.readings import DIED, HUNG, RAISED, TEXT, Reading, no_verdict
from truegrade.errors import UserError
from truegrade.files.addresses import HIDDEN, keys_in, without_keys

if TYPE_CHECKING:
    pass

SERVICE_PATHS = {"truegrade": "/v1/grade"}
"""Where a service is asked that was named by its address alone."""


MAX_ANSWER_BYTES = 1 << 20
"""Bytes of an answer that are read, unpacked; a verdict takes fewer than a thousand."""


class HttpTarget(OneByOneTarget):
    """Asks a service, a probe after the other; groups may be graded from several threads.

    Args:
        asker: words for probes.
        address: that requests are sent to.
        token: sent as ``Authorization: Bearer``.

    Raises:
        UserError: services are not called in this way.
    """

    def __init__(self, asker: ProbeAsker, address: str, token: str | None = None) -> None:
        import httpx2

        if asker.call.ask is None:
            raise UserError(f"`call`: {asker.call.name} is no way to ask an HTTP address")
        super().__init__(asker)
        self._ask = asker.call.ask
        alone = urlsplit(address).path in {"", "/"}
        self._address = address.rstrip("/") + SERVICE_PATHS.get(asker.call.name, "") if alone else address
        self._token = token
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx2.Client(headers=headers, timeout=asker.timeout_s, trust_env=False)
        self._answered = False

    def close(self) -> None:
        """Hang up."""
        self._http.close()

    def _reading(self, question: ProbeQuestion) -> Reading:
        import httpx2

        try:
            value = self._ask(question, self._post)
        except _NoAnswer as error:
            shown = error.reading.detail
            for key in (*keys_in(self._address), *([self._token] if self._token else [])):
                shown = shown.replace(key, HIDDEN)
            return msgspec.structs.replace(error.reading, detail=shown)
        except httpx2.TimeoutException:
            return Reading(None, None, f"{HUNG} no answer in {self._asker.timeout_s:g} s")
        except httpx2.HTTPError as error:
            if not self._answered:
                raise UserError(
                    f"`grader`: {without_keys(self._address)} cannot be reached: {error}; start it first"
                ) from None
            return Reading(None, None, no_verdict(DIED, f"{type(error).__name__}: {error}"))
        return self._asker.call.reading(value)

    def _post(self, body: dict[str, Any]) -> Any:
        import httpx2

        until = time.monotonic() + self._asker.timeout_s
        with self._http.stream("POST", self._address, json=body) as reply:
            self._answered = True
            content = b""
            for piece in reply.iter_bytes():
                content += piece
                if len(content) > MAX_ANSWER_BYTES:
                    raise _NoAnswer(TEXT, f"an answer of over {MAX_ANSWER_BYTES} bytes")
                if time.monotonic() > until:
                    raise httpx2.ReadTimeout("the answer did not end in time")
        text = content.decode("utf-8", "replace")
        if reply.status_code != HTTPStatus.OK:
            raise _NoAnswer(RAISED, f"HTTP {reply.status_code}: {text}")
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise _NoAnswer(TEXT, text) from None


class _NoAnswer(Exception):
    """The service answered, and not with a value."""

    def __init__(self, prefix: str, text: str) -> None:
        super().__init__(text)
        self.reading = Reading(None, None, no_verdict(prefix, text))


def is_loopback(address: str) -> bool:
    """Whether an address is this machine's own.

    Raises:
        UserError: it is no address.
    """
    try:
        host = urlsplit(address).hostname
    except ValueError:
        host = None
    if not host:
        raise UserError(f"`grader`: {without_keys(address)} is no address; write http://HOST:PORT/PATH")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
