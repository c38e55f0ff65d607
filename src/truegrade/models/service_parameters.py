"""Sampling parameters as one service takes them, and what is learnt when it refuses one.

Services differ in which parameters they know; the protocol has no way to ask. So the first request says what the
run wants, and a refusal that names a parameter changes all later requests of this model. Each change is recorded:
a run whose temperature was left out must say so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from truegrade.errors import UserError
from truegrade.models.providers import Price
from truegrade.models.service_errors import RequestFailure
from truegrade.records import Prompt
from truegrade.records.config import Sampling

Route = Literal["chat", "text"]
"""``chat``: messages in turn; ``text``: one text to continue, where a service still does that."""

_NONE: Mapping[str, Any] = MappingProxyType({})

# Words with which services say that they do not take a parameter at all: OpenAI (unsupported parameter or value,
# only the default), Gemini (unknown name), Mistral and vLLM (extra inputs), generic validators, Anthropic (last
# line). Below, those for an n that is taken but must be 1: DeepSeek (only n = 1), Groq ('n' ... at most 1).
_REFUSAL = re.compile(
    r"unsupported|n[o']t support|unknown|unrecogni[sz]ed|unexpected|extra inputs|not permitted|not allowed"
    r"|only the default|deprecated|incompatible|cannot be (?:set|specified|used)|additional ?propert"
    r"|cannot both be specified|may only be set|or unset|must contain non-whitespace",
    re.IGNORECASE,
)
_ONE_AT_A_TIME = re.compile(r"only n ?= ?1\b|['\"`]n['\"`].* at most 1\b", re.IGNORECASE)


class Parameters:
    """What is sent along one route of one model, by the names of `Sampling`; a client translates the rest.

    Args:
        limits: names of the token limit; where the first is refused, the next is sent.
        rules: parameters that the service is known not to take, each with the reason.
        required: what it insists on, sent where the run sets none.
    """

    def __init__(
        self,
        *,
        limits: Sequence[str] = ("max_tokens",),
        rules: Mapping[str, str] = _NONE,
        required: Mapping[str, Any] = _NONE,
    ) -> None:
        self._limits, self._rules, self._required = tuple(limits), rules, required
        self._refused: set[str] = set()
        self._notes: dict[str, str] = {}

    @property
    def adaptations(self) -> tuple[str, ...]:
        """Every departure from what the run asked for, one line each, in the order of their happening."""
        return tuple(self._notes.values())

    def note(self, name: str) -> str | None:
        """What became of a parameter that was not sent as asked; None where it was."""
        return self._notes.get(name)

    def accepts(self, name: str) -> bool:
        """Whether a parameter has not been refused so far."""
        return name not in self._refused

    def build(self, prompt: Prompt, sampling: Sampling, n: int | None = None) -> dict[str, Any]:
        """Parameters of one request, those left out that are unset, refused or against the rules."""
        stop = list(dict.fromkeys((*prompt.stop, *sampling.stop)))
        wanted = {
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            self._token_limit: sampling.max_tokens,
            "seed": sampling.seed,
            "stop": stop or None,
            "reasoning_effort": sampling.reasoning_effort,
            "n": n,
        }
        sent = {name: value for name, value in wanted.items() if value is not None and name not in self._refused}
        for name, reason in self._rules.items():
            if sent.pop(name, None) is not None:
                self._notes.setdefault(name, f"{name} left out: {reason}")
        for name, value in self._required.items():
            if name not in sent:
                sent[name] = value
                self._notes.setdefault(name, f"{name} {value} sent: the service needs one and the run sets none")
        return sent

    def learn(self, failure: RequestFailure, sent: Mapping[str, Any]) -> bool:
        """Take a refusal into account; True if the request now differs and is worth sending again."""
        name = refused_parameter(failure, sent)
        if name is None:
            return False
        if name in self._refused:
            return True  # a request that was under way while another one learnt the same
        others = [limit for limit in self._limits if limit != name and limit not in self._refused]
        if name in self._limits and not others:
            return False
        self._refused.add(name)
        change = f"sent as {others[0]}" if name in self._limits else "left out"
        self._notes[name] = f"{name} {change}: {failure.error}"
        return True

    @property
    def _token_limit(self) -> str:
        return next(name for name in self._limits if name not in self._refused)


def refused_parameter(failure: RequestFailure, sent: Mapping[str, Any]) -> str | None:
    """Which of the sent parameters a service says it does not take; None where it complains of something else.

    The error's own field decides; else the parameter that its text names first.
    """
    if "n" in sent and _ONE_AT_A_TIME.search(failure.error):
        return "n"
    if not _REFUSAL.search(f"{failure.code or ''} {failure.error}".replace("_", " ")):
        return None
    if failure.parameter in sent:
        return failure.parameter
    places = {name: place for name in sent if (place := _place(name, failure.error)) is not None}
    return min(places, key=places.__getitem__, default=None)


def _place(name: str, text: str) -> int | None:
    """Where a text first names a parameter; "stop" and "n" are ordinary words, so they count only in quotes."""
    pattern = rf"""['"`]{name}['"`]""" if name in {"stop", "n"} else rf"\b{name}\b"
    found = re.search(pattern, text)
    return found.start() if found else None


# ------------------------------------------------ Model arguments (``-M key=value``) that every service takes.


_Dollars = Annotated[float, msgspec.Meta(ge=0)]


class ServiceOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Reserved keys, each with its meaning; a back end adds its own."""

    text_as_chat: bool = False
    """Send a prompt of style ``text`` as one user message instead of to the completions endpoint."""
    max_empty: Annotated[int, msgspec.Meta(ge=1)] = 3
    """Empty replies to one sample after which the empty text is accepted."""
    input_price: _Dollars | None = None
    """USD per million input tokens."""
    output_price: _Dollars | None = None
    """USD per million output tokens."""
    api_key_env: str | None = None
    """Environment variable that holds the key, instead of the provider's own."""

    def price(self, listed: Price | None) -> Price | None:
        """The user's price; where none was given, the listed one.

        Raises:
            UserError: only one of the two prices was given and the other is not known.
        """
        if self.input_price is None and self.output_price is None:
            return listed
        input_usd, output_usd = self.input_price, self.output_price
        if listed is not None:
            input_usd = listed.input_usd if input_usd is None else input_usd
            output_usd = listed.output_usd if output_usd is None else output_usd
        if input_usd is None or output_usd is None:
            raise UserError(
                "`model_args` input_price and output_price go together: give both, in USD per million tokens"
            )
        return Price(input_usd=input_usd, output_usd=output_usd, as_of="given")


_SECRETS = frozenset(
    {"api_key", "apikey", "api-key", "authorization", "access_token", "password", "secret", "token"}
)
OptionsT = TypeVar("OptionsT", bound=ServiceOptions)


def split_arguments(args: Mapping[str, Any], options: type[OptionsT]) -> tuple[OptionsT, dict[str, Any]]:
    """Reserved keys as options, and the rest for the request's body.

    Raises:
        UserError: a reserved key has a value of the wrong kind, or a key of a service is among them.
    """
    secret = next((name for name in args if name.lower() in _SECRETS), None)
    if secret is not None:
        raise UserError(
            f"`model_args` {secret} would be stored with the run; put the key into an environment variable, and"
            " name that with `model_args` api_key_env=NAME"
        )
    reserved = {key: value for key, value in args.items() if key in options.__struct_fields__}
    extra_body = {key: value for key, value in args.items() if key not in reserved}
    try:
        return msgspec.convert(reserved, options, strict=False), extra_body
    except msgspec.ValidationError as error:
        raise UserError(f"model argument not understood: {error}; write `model_args` key=value") from None
