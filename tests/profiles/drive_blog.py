"""The blog post's own code blocks, in one namespace as in its notebook."""

import contextlib
import io
import json
import re
import subprocess
import sys
import types
from pathlib import Path

from peer_alone import alone

REPOSITORY = Path(sys.argv[1]) / "NotAlvin+NotAlvin.github.io"


def blocks():
    post = subprocess.run(["git", "-C", str(REPOSITORY), "show", "d884b6b:content/posts/Circular Coding.md"],
                          capture_output=True, text=True, check=True).stdout  # fmt: skip
    # Blocks whose code holds fences of its own end at the first line that is nothing but a fence.
    return re.findall(r"^```python\n(.*?)^```[ \t]*$", post, re.DOTALL | re.MULTILINE)


def fetch(code, rows):
    """The messages that ``fetch_completion`` sends for each row."""
    sent = []

    def create(**request):
        sent.append(request["messages"])
        message = types.SimpleNamespace(content="x")
        return types.SimpleNamespace(choices=[types.SimpleNamespace(message=message)],
                                     usage=types.SimpleNamespace(total_tokens=1))  # fmt: skip

    client = types.SimpleNamespace(chat=types.SimpleNamespace(completions=types.SimpleNamespace(create=create)))
    reply = types.SimpleNamespace(status_code=200, json=lambda: {"rows": [{"row": row} for row in rows]})
    stub = sys.modules["requests"] = types.ModuleType("requests")
    stub.get = lambda *args, **kwargs: reply
    scope = {"OpenAI": lambda **key: client, "api_key": "", "preprocess_data": lambda text: text}
    exec("import time\n" + code, scope)
    _, shots = scope["get_humaneval_dataset"]()
    for row in rows:
        scope["fetch_completion"](dict(row), "m", "python", shots, times=1)
    return sent


def score(scorer, row):
    """The scores of one answer: empty where it is dropped."""
    test = "def " + row["test"].split("def ")[-1].strip()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return scorer([row["answer"]], test)


def main():
    requests = json.load(sys.stdin)
    found = blocks()
    dataset = next(block for block in found if "def get_humaneval_dataset" in block)
    completion = next(block for block in found if "def fetch_completion" in block)
    scope = {"__name__": "__main__"}
    exec("import copy, json, time\n" + next(block for block in found if "def scorer" in block), scope)
    print(json.dumps({
        "scores": [alone(score, scope["scorer"], row) for row in requests["rows"]],
        "prompts": fetch(dataset + "\n" + completion, requests["prompts"]) if requests["prompts"] else [],
    }))  # fmt: skip


if __name__ == "__main__":
    main()
