"""What the clients of all vendors share: whom they ask, whether it was ever reached, and that no key is told."""

from __future__ import annotations

from typing import TypeVar

from truegrade.models.providers import ModelEndpoint
from truegrade.models.service_errors import RequestFailure, without_secrets

T = TypeVar("T")

CONNECT_TIMEOUT_S = 30.0
"""Most seconds for a connection to be made; less where a whole request may take less."""


class VendorClient:
    """A client of one model at one service; each vendor's is derived from it.

    Args:
        endpoint: where, and with which key.
        model: the model's id at the service.
    """

    def __init__(self, endpoint: ModelEndpoint, model: str) -> None:
        self._endpoint, self._model = endpoint, model
        self.reached = False
        """Whether a connection was ever made."""

    @property
    def name(self) -> str:
        """``provider/name``, as messages call the model."""
        return f"{self._endpoint.provider}/{self._model}"

    def noted(self, outcome: T | RequestFailure) -> T | RequestFailure:
        """The outcome of a request, with keys taken out of it; and whether there was a connection is noted."""
        if isinstance(outcome, RequestFailure):
            self.reached = self.reached or not outcome.unreachable
            return without_secrets(outcome, self._endpoint.secrets)
        self.reached = True
        return outcome
