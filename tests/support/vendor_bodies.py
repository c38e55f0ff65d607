"""What Google's generateContent and Bedrock's Converse answer, for a scripted server: bodies and errors.

Shapes are those of the vendors' API references; nothing of the product is known here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from support.scripted_server import Answer, Script, ScriptedServer, scripted_server

GOOGLE_USAGE = {"promptTokenCount": 10, "candidatesTokenCount": 20, "totalTokenCount": 30}
BEDROCK_USAGE = {"inputTokens": 10, "outputTokens": 20, "totalTokens": 30}


@contextmanager
def vendor_server(script: Script) -> Iterator[tuple[ScriptedServer, str]]:
    """A server, and its address without the path of the OpenAI protocol."""
    with scripted_server(script) as server:
        yield server, server.url.removesuffix("/v1")


def generated(
    *texts: str, thoughts: str | None = None, finish: str = "STOP", usage: Mapping[str, Any] = GOOGLE_USAGE
) -> dict[str, Any]:
    """Body of a GenerateContentResponse with a candidate for each text, thoughts before the first."""
    parts = [[{"text": text}] for text in texts]
    if thoughts is not None:
        parts[0].insert(0, {"text": thoughts, "thought": True})
    return {
        "candidates": [
            {"index": i, "finishReason": finish, "content": {"role": "model", "parts": entry}}
            for i, entry in enumerate(parts)
        ],
        "usageMetadata": dict(usage),
        "modelVersion": "gemini-served-1",
        "responseId": "r-1",
    }


def google_error(code: int, status: str, message: str, *details: Mapping[str, Any]) -> Answer:
    """An error as ``google.rpc.Status`` in JSON."""
    error = {"code": code, "message": message, "status": status, "details": [dict(entry) for entry in details]}
    return Answer({"error": error}, status=code)


def conversed(
    text: str, *, thoughts: str | None = None, stop: str = "end_turn", usage: Mapping[str, Any] = BEDROCK_USAGE
) -> dict[str, Any]:
    """Body of a ConverseResponse; thoughts lie in a block of their own, before the text."""
    content: list[dict[str, Any]] = [{"text": text}] if text else []
    if thoughts is not None:
        content.insert(0, {"reasoningContent": {"reasoningText": {"text": thoughts, "signature": "c2ln"}}})
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": stop,
        "usage": dict(usage),
        "metrics": {"latencyMs": 5},
    }


def aws_error(status: int, kind: str, message: str, **headers: str) -> Answer:
    """An error of the REST-JSON protocol: its kind stands in a header."""
    lines = {"x-amzn-errortype": f"{kind}:http://internal.amazon.com/coral/", "x-amzn-requestid": "r-1", **headers}
    return Answer({"message": message}, status=status, headers=lines)
