"""Which of a profile's prompts a completion answers, for harnesses whose extraction depends on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from truegrade.profiles.execution_prompts import RenderPrompt
from truegrade.records import Completion


def answered_prompt(
    completion: Completion, renderers: Mapping[str, RenderPrompt], names: Iterable[str]
) -> str | None:
    """The first of these names whose prompt has the hash that the completion carries.

    None for the answer to another prompt and for imported text, whose prompt nobody recorded.

    Args:
        completion: what came back.
        renderers: each makes a prompt of the problem, by name.
        names: those of the renderers to try.
    """
    if not completion.prompt_sha256:
        return None
    known = (name for name in names if name in renderers)
    return next((name for name in known if renderers[name]().sha256 == completion.prompt_sha256), None)
