"""Code rewards of others, each in the jail: what they pay for is found, and right programs are no false alarm.

The whole table is made by ``python -m bench assay_rewards``.
"""

import os
from pathlib import Path

import pytest
from targets_support import jailed

from bench.assay_rewards import REWARDS, measure, openers, paid_for_nothing, prepare, refused
from truegrade.apps.assay.folder import AssayFolder

pytestmark = [jailed, pytest.mark.slow]
BY_NAME = {reward.name: reward for reward in REWARDS}


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    if not os.environ.get("TRUEGRADE_PEERS"):
        pytest.skip("peers not present: set TRUEGRADE_PEERS")
    folder = tmp_path_factory.mktemp("rewards") / "sources"
    try:
        prepare(Path(os.environ["TRUEGRADE_PEERS"]), (BY_NAME[name] for name in NAMES), folder)
    except OSError as error:
        pytest.skip(f"peers not present: {error}")
    return folder


NAMES = ("verl-prime-stdio", "verl-fusion-stdio", "open-instruct-asserts")


@pytest.mark.parametrize("name", NAMES)
def test_what_it_pays_for(name, sources, tmp_path):
    reward = BY_NAME[name]
    result = measure(reward, sources, tmp_path / name, classes=("right", "cheats"))
    assert openers(result).keys() == reward.expected
    assert result.measures[0].references_refused == 0
    right = [probe for probe in AssayFolder(result.folder).probes() if probe.kind == "right"]
    assert len(right) >= 3
    assert set(refused(result)) == ({"imports"} if name.startswith("open-instruct") else set())


def test_what_no_test_at_all_is_worth(sources):
    paid = {name: paid_for_nothing(BY_NAME[name], sources) for name in NAMES}
    assert paid == {"verl-prime-stdio": 1.0, "verl-fusion-stdio": 0.0, "open-instruct-asserts": 0.0}
