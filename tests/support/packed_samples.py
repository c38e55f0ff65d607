"""The samples that a page holds packed."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import msgspec


def unpack(text: str) -> Any:
    """What `truegrade.report.chosen_samples.pack` packed; the script of the page does the same."""
    return msgspec.json.decode(zlib.decompress(base64.b64decode(text), -zlib.MAX_WBITS))
