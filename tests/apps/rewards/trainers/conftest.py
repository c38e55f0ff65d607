"""The trainers' own code, from a folder of checkouts; run by ``make trainers PEERS=folder``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def checkout():
    """Makes the packages of a checkout importable, or skips."""

    def found(repository: str, module: str, below: str = "") -> None:
        folder = os.environ.get("TRUEGRADE_PEERS")
        if not folder:
            pytest.skip("trainers not present: set TRUEGRADE_PEERS")
        path = Path(folder) / repository / below
        if not path.is_dir():
            pytest.skip(f"trainers not present: no {repository} in TRUEGRADE_PEERS")
        sys.path.insert(0, str(path))
        pytest.importorskip(module, reason=f"trainers not present: packages that {repository} needs")

    return found


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch, tmp_path):
    """Settings of whoever runs the tests are not taken."""
    for name in [name for name in os.environ if name.startswith("TRUEGRADE_REWARD_")]:
        monkeypatch.delenv(name)
