"""NeMo Gym: its web server verifies replies, its parser reads the page's YAML (NVIDIA-NeMo/Gym@07d6b0d)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from unittest.mock import MagicMock

import pytest

from support.pages import blocks
from support.reward_battery import ASSERTS, CALLS, ROW, STDIO, UNREADABLE, battery, fenced
from truegrade.errors import UserError


@pytest.fixture(scope="module")
def gym(checkout):
    checkout("NVIDIA-NeMo+Gym", "nemo_gym.base_resources_server")
    from truegrade.apps.rewards import nemo_gym

    return nemo_gym


def settings_of_the_page(tmp_path):
    """What Gym's own parser makes of the page's YAML."""
    from nemo_gym.global_config import GlobalConfigDictParser, GlobalConfigDictParserConfig
    from omegaconf import OmegaConf

    (text,) = blocks("rewards.md", "yaml", "NeMo Gym")
    file = tmp_path / "truegrade.yaml"
    file.write_text(text)
    parser = GlobalConfigDictParser()
    given = OmegaConf.create({"config_paths": [str(file)]})
    config = GlobalConfigDictParserConfig(
        initial_global_config_dict=given, skip_load_from_cli=True, skip_load_from_dotenv=True
    )
    found = parser.parse(config)
    (server,) = [
        it for it in parser.filter_for_server_instance_configs(found) if it.SERVER_TYPE == "resources_servers"
    ]
    return OmegaConf.to_container(server.get_inner_run_server_config_dict())


def client(gym, **truegrade):
    from fastapi.testclient import TestClient
    from nemo_gym.server_utils import ServerClient

    config = gym.TruegradeResourcesServerConfig(
        host="127.0.0.1", port=8080, entrypoint="", name="", truegrade=truegrade
    )
    server = gym.TruegradeResourcesServer(config=config, server_client=MagicMock(spec=ServerClient))
    return TestClient(server.setup_webserver())


def row(text, metadata, cut=False):
    return {
        "responses_create_params": {"input": [{"role": "user", "content": "spread"}]},
        "response": {
            "id": "r", "created_at": 0.0, "model": "m", "object": "response", "parallel_tool_calls": False,
            "tool_choice": "auto", "tools": [],
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "output": [{
                "id": "o", "role": "assistant", "status": "completed", "type": "message",
                "content": [{"annotations": [], "text": text, "type": "output_text"}],
            }],
        },
        "verifier_metadata": metadata,
    }  # fmt: skip


def verified(http, rows):
    with http, ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda each: http.post("/verify", json=each), rows))
    assert [answer.status_code for answer in answers] == [200] * len(rows)
    return [answer.json() for answer in answers]


@pytest.mark.parametrize(
    ("form", "truth"), [("function", ASSERTS), ("function", ROW), ("function", CALLS), ("stdio", STDIO)]
)
def test_no_cheat_is_paid_and_right_programs_are(gym, form, truth):
    due = battery(form, truth, cheats=None if truth is ASSERTS else 1)
    rows = [row(each.text, {"unit_tests": each.ground_truth}) for each in due]
    found = verified(client(gym, profile="strict", retry_s=30.0), rows)
    assert {each.name: one["reward"] for each, one in zip(due, found, strict=True)} == {
        each.name: each.reward for each in due
    }
    for one in found:
        assert "_ng_failure_class" not in one
        assert {"pass_rate", "tampering", "truncated", "reason"} <= set(one)


def test_what_is_not_known_is_a_row_that_gym_leaves_out(gym):
    from nemo_gym.rollout_collection import NG_FAILURE_CLASS_KEY

    rows = [row(fenced("print(1)"), {"unit_tests": truth}) for truth in UNREADABLE] + [row("print(1)", None)]
    found = verified(client(gym, retry_s=20.0), rows)
    assert [one[NG_FAILURE_CLASS_KEY] for one in found] == ["judge_failed"] * len(rows)
    assert all("no reward" in one["_ng_failure_judge_error"] for one in found)


def test_a_reply_that_was_cut_off_is_known_as_one(gym):
    (kept,) = verified(client(gym), [row(fenced("print(1)"), {"unit_tests": STDIO}, cut=True)])
    assert kept["truncated"] == 1.0
    (left,) = verified(client(gym, truncated="none"), [row(fenced("print(1)"), {"unit_tests": STDIO}, cut=True)])
    assert left["_ng_failure_class"] == "judge_failed"


def test_the_configuration_of_the_page(gym, tmp_path):
    config = gym.TruegradeResourcesServerConfig.model_validate(
        settings_of_the_page(tmp_path) | {"name": "truegrade"}
    )
    assert config.truegrade == {"profile": "strict", "url": "http://127.0.0.1:8080"}
    assert config.entrypoint == "app.py"
    (app,) = blocks("rewards.md", "py", "NeMo Gym")
    assert app.splitlines()[-1].strip() == "TruegradeResourcesServer.run_webserver()"
    names = {"__name__": "app"}
    exec(app, names)
    assert names["TruegradeResourcesServer"] is gym.TruegradeResourcesServer


def test_a_wrong_setting_is_found_at_the_start(gym):
    with pytest.raises(UserError, match="`scheme`"):
        client(gym, scheme="most")
