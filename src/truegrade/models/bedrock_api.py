"""Models at Amazon Bedrock through boto3: the Converse operation, which is one for all of them.

Arguments of the model (``-M key=value``) are the fields of `BedrockOptions`. Every other key goes into
``additionalModelRequestFields``, for what only one vendor's models take (``-M top_k=20``).
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from truegrade.errors import UserError
from truegrade.files.extras import require
from truegrade.models.providers import ModelEndpoint, Price, Provider, is_local
from truegrade.models.service_errors import (
    CONNECT_TIMEOUT_S,
    Body,
    FailureKind,
    RequestFailure,
    VendorClient,
    kind_of_status,
    one_line,
    read_choice,
    retry_after_s,
)
from truegrade.models.service_model import ServiceModel
from truegrade.models.service_parameters import (
    Parameters,
    Route,
    ServiceOptions,
    refuse_full_thinking,
    refuse_text,
    spelled_parameter,
    split_arguments,
)
from truegrade.records import Message, Usage
from truegrade.records.config import RequestPolicy, Sampling
from truegrade.registry import Found

if TYPE_CHECKING:
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError


# ------------------------------------------ Reading what Bedrock's Converse answers, and what its errors mean.
# Source: Amazon Bedrock API reference, ``Converse`` (ContentBlock, TokenUsage, stopReason, errors) and "Common
# error types" of AWS services.


_FINISH = MappingProxyType(
    {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "model_context_window_exceeded": "length",
    }
)
"""Ends that every service has; any other reason stays as Bedrock writes it."""

_SPELLINGS = MappingProxyType(
    {
        "max_tokens": r"max_?tokens",
        # of two that exclude each other the temperature is kept
        "top_p": r"temperature.{1,9}top_?p.{1,9}both|top_?p",
        "temperature": r"temperature",
        "stop": r"stop_?sequences?",
    }
)

_NO_SUCH_MODEL = ("model identifier", "on-demand throughput", "inference profile", "model arn")
"""Words of a ValidationException, or of a 404, about the model and not about this one request."""

_CREDENTIALS = (
    "give credentials that may call bedrock:InvokeModel: AWS_PROFILE or `model_args` profile=NAME, the variables"
    " AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK; aws sso login renews expired ones"
)


class _ReasoningText(msgspec.Struct):
    text: str | None = None


class _Reasoning(msgspec.Struct, rename="camel"):
    reasoning_text: _ReasoningText | None = None


class _Block(msgspec.Struct, rename="camel"):
    text: str | None = None
    reasoning_content: _Reasoning | None = None
    tool_use: Any = None


class _ConverseMessage(msgspec.Struct):
    content: list[_Block]


class _Output(msgspec.Struct):
    message: _ConverseMessage


class _TokenUsage(msgspec.Struct, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_write_input_tokens: int = 0


class _ConverseBody(msgspec.Struct, rename="camel"):
    output: _Output
    stop_reason: str | None = None
    usage: _TokenUsage | None = None


def read_converse(response: Mapping[str, Any]) -> Body | RequestFailure:
    """Read a response as botocore parsed it.

    A body that broke off is no error to botocore, which reads nothing out of it. So what lacks its output is a
    failure that may pass.
    """
    try:
        raw = msgspec.convert({**response, "ResponseMetadata": None}, _ConverseBody)
    except msgspec.ValidationError as error:
        return RequestFailure(kind="passing", error=one_line(f"malformed body: {error}"), status=200)
    blocks = raw.output.message.content
    text = "".join(block.text or "" for block in blocks)
    thoughts = "".join(
        block.reasoning_content.reasoning_text.text or ""
        for block in blocks
        if block.reasoning_content and block.reasoning_content.reasoning_text
    )
    reason = _FINISH.get(raw.stop_reason, raw.stop_reason) if raw.stop_reason else None
    calls = any(block.tool_use for block in blocks)
    choice = read_choice(text, thoughts, reason, calls=calls)
    return Body(choices=(choice,), usage=_usage(raw.usage) if raw.usage else None)


def _usage(raw: _TokenUsage) -> Usage:
    # unlike elsewhere, the tokens read from or written to a cache are counted beside the input tokens
    return Usage(
        input_tokens=raw.input_tokens + raw.cache_read_input_tokens + raw.cache_write_input_tokens,
        output_tokens=raw.output_tokens,
    )


def read_client_error(error: ClientError) -> RequestFailure:
    """Classify an error that the service sent."""
    metadata = error.response.get("ResponseMetadata", {})
    code = str(error.response.get("Error", {}).get("Code", ""))
    message = str(error.response.get("Error", {}).get("Message") or "no reason given")
    status = metadata.get("HTTPStatusCode")
    kind, advice = _meaning(code, status or 0, message)
    return RequestFailure(
        kind=kind,
        error=one_line(f"HTTP {status}: {code}: {message}"),
        status=status,
        wait_s=retry_after_s(metadata.get("HTTPHeaders", {}), time.time()) if kind == "passing" else None,
        parameter=spelled_parameter(message, _SPELLINGS),
        code=code,
        advice=advice,
    )


def _meaning(code: str, status: int, message: str) -> tuple[FailureKind, str | None]:
    """What an error means for the requests to come, and what the user can do if it ends the run."""
    about_model = any(words in message.lower() for words in _NO_SUCH_MODEL)
    if code == "ResourceNotFoundException" or (code == "ValidationException" and about_model):
        return "stopping", (
            "check the name and the region: many models answer only by an inference profile, such as"
            " us.anthropic.claude-…; aws bedrock list-inference-profiles shows them"
        )
    if code == "AccessDeniedException":
        return (
            "stopping",
            f"ask for access to the model in the console of Bedrock in this region, or {_CREDENTIALS}",
        )
    if code == "ModelErrorException":  # 424: the model failed at this request, which another attempt may mend
        return "passing", None
    kind = kind_of_status(status)
    return kind, _CREDENTIALS if kind == "stopping" else None


def read_local_error(error: BotoCoreError) -> RequestFailure:
    """Classify what botocore raised without an answer: no connection, no credentials, no such request."""
    from botocore import exceptions as raised

    text = one_line(f"{type(error).__name__}: {error}").rstrip(".")
    if isinstance(error, raised.ReadTimeoutError | raised.ConnectTimeoutError):
        return RequestFailure(kind="passing", error="timed out")
    if isinstance(error, raised.ConnectionError):
        return RequestFailure(kind="passing", error=text, unreachable=True)
    if isinstance(error, raised.HTTPClientError):
        return RequestFailure(kind="passing", error=text)
    if isinstance(error, raised.ParamValidationError):
        return RequestFailure(kind="refused", error=text)
    return RequestFailure(kind="stopping", error=text, advice=_CREDENTIALS)


_NAMES = {"max_tokens": "maxTokens", "temperature": "temperature", "top_p": "topP", "stop": "stopSequences"}
_BEARER = "AWS_BEARER_TOKEN_BEDROCK"


class BedrockOptions(ServiceOptions, frozen=True, kw_only=True):
    """Reserved keys, each with its meaning."""

    region: str | None = None
    """The AWS region; None: ``AWS_REGION``, ``AWS_DEFAULT_REGION`` or the profile's."""
    profile: str | None = None
    """The profile of the AWS configuration; None: ``AWS_PROFILE``, else the default one."""
    thinking_budget: Annotated[int, msgspec.Meta(ge=1024)] | None = None
    """Tokens to think with, for Claude models."""


class BedrockEndpoint(ModelEndpoint):
    """A region's address, with the session that holds its credentials."""

    def __init__(self, provider: str, base_url: str, session: boto3.Session) -> None:
        super().__init__(provider, base_url, os.environ.get(_BEARER), _BEARER)
        self.session = session


def find_bedrock(provider: Found[Provider], base_url: str | None, args: Mapping[str, Any]) -> ModelEndpoint:
    """Where Bedrock is asked and with which credentials, both as boto3 finds them.

    Raises:
        UserError: no region, no credentials, no such profile, or ``truegrade[bedrock]`` is not installed.
    """
    options, _ = split_arguments(args, BedrockOptions)
    if options.api_key_env is not None:
        raise UserError(f"`model_args` api_key_env: Bedrock takes a key from {_BEARER} alone; leave it out")
    require("bedrock", "Amazon Bedrock")
    import boto3
    from botocore.exceptions import BotoCoreError, NoRegionError, ProfileNotFound

    try:
        # AWS_REGION is what every other tool of AWS reads; botocore knows AWS_DEFAULT_REGION and the profile's
        region = options.region or os.environ.get("AWS_REGION")
        session = boto3.Session(region_name=region, profile_name=options.profile)
        address = _service(session, base_url, {}).meta.endpoint_url
        # a bearer token is used by botocore itself, before any other credentials
        granted = session.get_credentials() or os.environ.get(_BEARER)
    except NoRegionError:
        raise UserError("Bedrock needs a region: give `model_args` region=us-east-1, or set AWS_REGION") from None
    except ProfileNotFound as error:
        raise UserError(f"{error}: aws configure list-profiles shows those that there are") from None
    except (BotoCoreError, ValueError) as error:
        told = one_line(str(error)).rstrip(".: ")
        raise UserError(
            f"AWS configuration: {told}; mend it, renew what has expired (aws sso login), or name another profile"
        ) from None
    if not granted:
        raise UserError(
            f"Bedrock needs credentials: set {_BEARER}, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a"
            " profile of your AWS configuration with `model_args` profile=NAME"
        )
    return BedrockEndpoint(provider.name, address.rstrip("/"), session)


def open_bedrock(
    endpoint: ModelEndpoint,
    model: str,
    request_policy: RequestPolicy,
    args: Mapping[str, Any],
    listed_price: Price | None,
) -> ServiceModel:
    """Open a model of Bedrock's; see `truegrade.models.service_model.ServiceOpener`.

    Args:
        endpoint: as `find_bedrock` gives it.
        model: the id of a model or an inference profile, or an ARN.
        request_policy: concurrency, time-out and retries.
        args: model arguments.
        listed_price: price unless ``args`` give one.

    Raises:
        UserError: a model argument is not understood.
    """
    options, fields = split_arguments(args, BedrockOptions)
    return ServiceModel(
        endpoint,
        model,
        BedrockClient(
            endpoint,
            model,
            request_policy=request_policy,
            thinking_budget=options.thinking_budget,
            fields=fields,
        ),
        fresh_parameters=lambda _: _fresh_parameters(options),
        request_policy=request_policy,
        options=options,
        price=options.price(listed_price),
    )


def _fresh_parameters(options: BedrockOptions) -> Parameters:
    none = "the Converse operation has no such parameter"
    rules = {"seed": none, "reasoning_effort": none, "n": none}
    if options.thinking_budget is not None:
        rules |= dict.fromkeys(("temperature", "top_p"), "a request with thinking takes none")
    return Parameters(rules=rules)


class BedrockClient(VendorClient):
    """A connection to one region's Converse operation, opened at the first request.

    Args:
        endpoint: as `find_bedrock` gives it.
        model: the id of a model or an inference profile, or an ARN.
        request_policy: how many requests at once, and how long one may take.
        thinking_budget: tokens to think with, for a Claude model; None: the model's default.
        fields: the other ``additionalModelRequestFields``.
    """

    def __init__(
        self,
        endpoint: ModelEndpoint,
        model: str,
        *,
        request_policy: RequestPolicy,
        thinking_budget: int | None,
        fields: Mapping[str, Any],
    ) -> None:
        super().__init__(endpoint, model)
        self._policy, self._thinking_budget, self._fields = request_policy, thinking_budget, dict(fields)
        if thinking_budget is not None:
            self._fields["thinking"] = {"type": "enabled", "budget_tokens": thinking_budget}
        self._client: Any = None

    def check(self, route: Route, sampling: Sampling) -> None:
        """See that a request can be put; see `truegrade.models.service_model.ServiceClient`.

        Raises:
            UserError: it is no chat, or a thinking budget fills the token limit.
        """
        refuse_text(route, self.name)
        if self._thinking_budget is not None and sampling.max_tokens is not None:
            refuse_full_thinking(self.name, self._thinking_budget, sampling.max_tokens)

    async def send(
        self, route: Route, messages: Sequence[Message], parameters: Mapping[str, Any]
    ) -> Body | RequestFailure:
        """Send one request; a failure is returned, never raised (cancellation passes through)."""
        from botocore.exceptions import BotoCoreError, ClientError
        from botocore.parsers import ResponseParserError

        if "logprobs" in parameters:
            return RequestFailure(kind="refused", error="unknown to the Converse operation: logprobs")
        request = self._request(messages, parameters)
        try:
            client = self._connected()
            async with asyncio.timeout(self._policy.timeout_s):  # botocore's own limit is for each single read
                response = await _in_thread(lambda: client.converse(**request))
        except ClientError as error:
            outcome: Body | RequestFailure = read_client_error(error)
        except BotoCoreError as error:
            outcome = read_local_error(error)
        except TimeoutError:
            outcome = RequestFailure(kind="passing", error="timed out")
        except (ResponseParserError, AttributeError, TypeError, ValueError) as error:
            # botocore's parser trusts a body to have the documented shape
            outcome = RequestFailure(kind="passing", error=one_line(f"malformed body: {error}"), status=200)
        else:
            outcome = read_converse(response)
        return self.note_outcome(outcome)

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            client, self._client = self._client, None
            client.close()

    def _request(self, messages: Sequence[Message], parameters: Mapping[str, Any]) -> dict[str, Any]:
        turns = [
            {"role": message.role, "content": [{"text": message.content}]}
            for message in messages
            if message.role != "system"
        ]
        inference = {_NAMES[name]: value for name, value in parameters.items() if name in _NAMES}
        request = {
            "modelId": parameters.get("model", self._model),
            "messages": turns,
            "system": [{"text": message.content} for message in messages if message.role == "system"],
            "inferenceConfig": inference,
            "additionalModelRequestFields": self._fields,
        }
        return {name: value for name, value in request.items() if value}

    def _connected(self) -> Any:
        if self._client is None:
            assert isinstance(self._endpoint, BedrockEndpoint)
            connect_s = min(self._policy.timeout_s, CONNECT_TIMEOUT_S)
            limits = {
                "max_pool_connections": self._policy.max_connections,
                "read_timeout": self._policy.timeout_s,
                "connect_timeout": connect_s,
            }
            self._client = _service(self._endpoint.session, self._endpoint.address, limits)
        return self._client


def _service(session: boto3.Session, base_url: str | None, settings: dict[str, Any]) -> Any:
    """The client of one region; an address of None is the region's own."""
    from botocore.config import Config

    if base_url is not None and is_local(base_url):
        # a proxy cannot reach this machine's own addresses: its environment variables are not for them
        settings["proxies"] = {}
    # nothing is sent for minutes while a model thinks: keep-alives tell what lies between that it is still wanted
    config = Config(retries={"total_max_attempts": 1}, tcp_keepalive=True, **settings)
    return session.client("bedrock-runtime", endpoint_url=base_url, config=config)


async def _in_thread(call: Callable[[], Any]) -> Any:
    """Await a blocking call in a thread of its own.

    The threads of an executor are waited for when Python ends: after Ctrl-C a request under way would hold the
    command back until it is answered. These are not, and what they bring too late is dropped.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: Exception | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)

    def work() -> None:
        result, error = None, None
        try:
            result = call()
        except Exception as raised:  # handed to whoever awaits it
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, name="bedrock", daemon=True).start()
    return await done
