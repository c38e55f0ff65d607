"""What is stored of sampling parameters: bytes and hashes from before there were top_k and repetition_penalty."""

import hashlib

import msgspec
import pytest

from truegrade.records import sha256_json
from truegrade.records.config import GenerationConfig, Sampling
from truegrade.store import BenchmarkIdentity, Manifest
from truegrade.store.manifest import read_manifest, write_manifest

BARE = b'{"temperature":null,"top_p":null,"max_tokens":null,"seed":null,"stop":[],"reasoning_effort":null}'
FULL = b'{"temperature":0.8,"top_p":0.95,"max_tokens":512,"seed":7,"stop":["\\nclass"],"reasoning_effort":"low"}'
ASKED = Sampling(temperature=0.8, top_p=0.95, max_tokens=512, seed=7, stop=("\nclass",), reasoning_effort="low")
# By running this project at 248de70, the last commit without the two parameters.
GOLDEN = [
    (Sampling(), BARE, "dd039aac5ed9e63e580b351682435638bd2c7e900a55071ad63dfa279c7d105d"),
    (ASKED, FULL, "a27244fc32699b5973a3117aa1cd16def2bc44774dd642a68092da6c0fe7421a"),
]


def config(sampling):
    return GenerationConfig(
        model="openai/gpt-4o", prompt_rule="strict@1/default", sampling=sampling, model_args={"top_k": 20}
    )


@pytest.mark.parametrize(("sampling", "content", "sha256"), GOLDEN, ids=["bare", "full"])
def test_bytes_and_run_identities_are_the_old_ones(sampling, content, sha256):
    assert msgspec.json.encode(sampling) == content
    assert config(sampling).sha256 == sha256
    assert msgspec.json.decode(content, type=Sampling) == sampling
    explicit = msgspec.structs.replace(sampling, top_k=None, repetition_penalty=None)
    assert explicit == sampling and config(explicit).sha256 == sha256


def test_what_enters_the_keys_of_the_response_cache_is_as_it_was():
    """Encoded with sorted keys, as `truegrade.models.replay` does."""
    assert sha256_json(Sampling()) == "2d64395169fd1b18e90434e61d78ec0319524dc78c4b86dc5cd6713611251d73"
    assert sha256_json(ASKED) == "e0ba45b4ea6b2d85bacc4af7c209221b33b6fd2985fc02e0242bb02d89a2015d"


def test_a_manifest_is_written_byte_for_byte_as_it_was(tmp_path):
    path = tmp_path / "manifest.json"
    manifest = Manifest(
        created="2026-01-01T00:00:00+00:00",
        benchmark=BenchmarkIdentity(name="humaneval", dataset_sha256="d" * 64, source="test", problems=2),
        generation=config(ASKED),
        samples_per_task=1,
    )
    for written in (manifest, None):  # made, then read and written again
        write_manifest(path, written or read_manifest(path))
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        assert sha256 == "d4eceefe82c0d96412c9393daa9d67cc03698d5ad18b921e2d7a6d2d10d72b6a"


@pytest.mark.parametrize(
    "more", [{"top_k": 20}, {"repetition_penalty": 1.1}, {"repetition_penalty": 1.0}], ids=str
)
def test_a_parameter_that_is_set_is_stored_and_makes_another_run(more):
    other = msgspec.structs.replace(ASKED, **more)
    (name,) = more
    assert msgspec.json.decode(msgspec.json.encode(other))[name] == more[name]
    assert msgspec.json.decode(msgspec.json.encode(other), type=Sampling) == other
    assert config(other).sha256 != config(ASKED).sha256
