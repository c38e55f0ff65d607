"""Model arguments (``-M key=value``) that every service takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec

from truegrade.errors import UserError
from truegrade.models.presets import Price

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
