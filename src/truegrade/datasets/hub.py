"""Data sets on the Hugging Face Hub, through its own client: push a file with a card, pull one and verify it.

The address is ``HF_ENDPOINT`` where that is set, and the token what ``hf auth login`` or ``HF_TOKEN`` left.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from truegrade.datasets.download import cache_folder, read_content, sha256
from truegrade.datasets.executions import ExecutionRow, encode_rows, write_content
from truegrade.datasets.rows import parse_rows
from truegrade.errors import UserError
from truegrade.files.extras import require

if TYPE_CHECKING:
    from huggingface_hub import HfApi


# ------------ The page that describes a pushed data set: what is in it, its hash, its licence, how to load it.


DATA_FILE = "data.jsonl"
"""Name of the rows' file in a repository."""

_HASH = re.compile(r"^sha256: ([0-9a-f]{64})$", re.MULTILINE)
_MEANINGS = {
    "id": "name of the row",
    "function_name": "the function that is called",
    "code": "the program",
    "input": "the calls, one a case",
    "output": "what each call returns, a Python literal",
    "correct_condition": "`call == value`, one a case",
    "mutated_code": "a program that differs in one place",
    "mutated_output": "what it returns, one a case",
    "has_mutation": "whether there is a mutant",
    "mutation_info": "how the mutant was made and chosen",
    "preserved": "rewritings that mean the same",
    "states": "values inside the calls",
    "question_id": "rows that share it are one cluster",
    "difficulty": "as the source names it",
    "contest_id": "number of the contest",
    "contest_date": "its day",
    "submission_id": "of the submission",
    "description": "what the function does",
    "dsl": "the program as an s-expression",
    "arity": "number of parameters",
    "depth": "levels of the program's tree",
    "metrics": "covariates of difficulty",
    "metadata": "where the row comes from",
}


def write_card(repo: str, rows: Sequence[ExecutionRow], sha256: str, licence: str) -> str:
    """The text of ``README.md``.

    Args:
        repo: ``ORG/NAME``.
        rows: all of the file.
        sha256: of the file.
        licence: an identifier that the hub knows.
    """
    cases = sum(1 if isinstance(row.input, str) else len(row.input) for row in rows)
    mutants = sum(bool(row.mutated_code) for row in rows)
    return f"""---
license: {licence}
pretty_name: {repo.rpartition("/")[2]}
tags:
- code
- execution-reasoning
- truegrade
configs:
- config_name: default
  data_files: {DATA_FILE}
---

# {repo.rpartition("/")[2]}

{len(rows)} programs with {cases} calls and what they return; {mutants} of them with a mutant. Every output was
recorded by running the program in a sandbox; `truegrade data check` runs them again.

Built with Truegrade. The file `{DATA_FILE}`:

```
sha256: {sha256}
```

## Load

```python
from datasets import load_dataset

rows = load_dataset("{repo}", split="train")
```

Or, checked against the hash above:

```console
truegrade data pull hf:{repo} --out {repo.rpartition("/")[2]}.jsonl
truegrade run execution-prediction --data {repo.rpartition("/")[2]}.jsonl
```

## Fields

| field | meaning | rows that have it |
| --- | --- | --- |
{_fields(rows)}

## Licence

`{licence}`, as whoever pushed it says. It covers the programs; check theirs before you redistribute.
"""


def hash_in(card: str) -> str | None:
    """The sha256 that a card names; None if it names none or several."""
    found = set(_HASH.findall(card))
    return found.pop() if len(found) == 1 else None


def _fields(rows: Sequence[ExecutionRow]) -> str:
    """A table's rows: the fields that some row has, in the order of the schema."""
    present = [msgspec.to_builtins(row) for row in rows]
    counts = {name: sum(name in row for row in present) for name in ExecutionRow.__struct_fields__}
    return "\n".join(
        f"| `{name}` | {_MEANINGS.get(name, '')} | {count} |" for name, count in counts.items() if count
    )


PREFIX = "hf:"
_ADDRESS = re.compile(r"hf:([\w.-]+/[\w.-]+?)(?:@([\w./-]+))?")
_REPO = re.compile(r"[\w.-]+/[\w.-]+")


class Pushed(msgspec.Struct, frozen=True, kw_only=True):
    """What now lies on the hub."""

    repo: str
    commit: str
    url: str
    rows: int
    sha256: str
    """Of the file of rows."""


class PulledFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file brought from the hub."""

    path: Path
    repo: str
    commit: str
    """The revision it was taken from, in full."""
    rows: int
    sha256: str
    verified: bool
    """Whether the card names a hash, which is then this one."""


def push(file: Path, repo: str, *, private: bool = False, licence: str = "unknown") -> Pushed:
    """Put a file of rows and its card into a repository, in one commit; the repository is made if need be.

    Args:
        file: execution rows in any layout that is read; pushed as JSON Lines.
        repo: ``ORG/NAME``.
        private: for a repository that is made now.
        licence: identifier that the hub knows, e.g. ``cc-by-4.0``.

    Raises:
        BadRecord: the file holds something else.
        UserError: the client is not installed, or the hub refuses.
    """
    if not _REPO.fullmatch(repo):
        raise UserError(f"`repo` {repo}: a data set's name on the hub is of the form ORG/NAME")
    rows = parse_rows(file, read_content(file), ExecutionRow)
    content = encode_rows(rows)
    card = write_card(repo, rows, sha256(content), licence)
    with _client(f"push to {repo}") as api:
        from huggingface_hub import CommitOperationAdd

        # Asked first: where the hub refuses to make what is there, huggingface_hub 2.4.0 builds an address without
        # this client's endpoint, and raises if that is not the one it was imported with (hf_api.py, create_repo).
        if not api.repo_exists(repo, repo_type="dataset"):
            api.create_repo(repo, repo_type="dataset", private=private, exist_ok=True)
        commit = api.create_commit(
            repo,
            [CommitOperationAdd(DATA_FILE, content), CommitOperationAdd("README.md", card.encode())],
            commit_message=f"{len(rows)} rows, sha256 {sha256(content)[:12]}",
            repo_type="dataset",
        )
    return Pushed(repo=repo, commit=commit.oid, url=str(commit.commit_url), rows=len(rows), sha256=sha256(content))


def pull(address: str, out: Path | None = None) -> PulledFile:
    """Bring the file of rows that ``hf:ORG/NAME`` or ``hf:ORG/NAME@REVISION`` holds.

    Args:
        address: the revision is a commit, branch or tag; without one it is the newest.
        out: where to put it; None for the cache, under the commit's number.

    Raises:
        BadRecord: the file holds no execution rows.
        UserError: the client is not installed, the hub refuses, or the file is not the one that its card names.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise UserError(f"{address!r} is no data set of the hub; write hf:ORG/NAME or hf:ORG/NAME@REVISION")
    repo, revision = found[1], found[2]
    with _client(f"pull {address}") as api, tempfile.TemporaryDirectory() as folder:
        info = api.dataset_info(repo, revision=revision)
        commit = info.sha or revision or ""
        names = [file.rfilename for file in info.siblings or []]
        name = _data_file(address, names)
        held = {
            each: Path(api.hf_hub_download(repo, each, repo_type="dataset", revision=commit, local_dir=folder))
            for each in {name, "README.md"} & set(names)
        }
        content = read_content(held[name])
        card = held["README.md"].read_text(encoding="utf-8") if "README.md" in held else ""
    rows = parse_rows(Path(f"{address} {name}"), content, ExecutionRow)
    digest, promised = sha256(content), hash_in(card)
    if promised not in {None, digest}:
        raise UserError(
            f"{address}: {name} has sha256 {digest}, but its card says {promised}; ask who pushed it, or pull an"
            " earlier revision with @REVISION"
        )
    path = out or cache_folder() / "hub" / repo.replace("/", "--") / commit[:12] / name
    write_content(path, content)
    return PulledFile(
        path=path, repo=repo, commit=commit, rows=len(rows), sha256=digest, verified=promised is not None
    )


def _data_file(address: str, names: list[str]) -> str:
    """Which file holds the rows: ours by its name, else the only one."""
    files = [name for name in names if name.endswith((".jsonl", ".json", ".jsonl.gz"))]
    if DATA_FILE in files:
        return DATA_FILE
    if len(files) != 1:
        shown = ", ".join(files[:8]) or "none"
        raise UserError(
            f"{address} holds {len(files)} JSON files ({shown}); one is needed, or one named {DATA_FILE}"
        )
    return files[0]


@contextmanager
def _client(what: str) -> Iterator[HfApi]:
    """The hub's client; its failures become one sentence."""
    require("hub", f"cannot {what}: that")
    import httpx2
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalTokenNotFoundError

    try:
        yield HfApi(endpoint=os.environ.get("HF_ENDPOINT") or None, library_name="truegrade")
    except HfHubHTTPError as error:
        status = getattr(error.response, "status_code", None)
        hint = "; log in with `hf auth login` or set HF_TOKEN" if status in {401, 403} else ""
        said = error.server_message or str(error).partition("\n")[0]
        raise UserError(f"cannot {what}: the hub answered {status}: {said}{hint}") from None
    except (LocalTokenNotFoundError, HFValidationError, httpx2.HTTPError, OSError) as error:
        raise UserError(f"cannot {what}: {str(error).partition(chr(10))[0] or type(error).__name__}") from None
