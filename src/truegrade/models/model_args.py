"""Model arguments, ``-M key=value``, as the options of a back end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from truegrade.errors import UnknownName, UserError

OptionsT = TypeVar("OptionsT", bound=msgspec.Struct)


def read_arguments(args: Mapping[str, Any], options: type[OptionsT], model: str) -> OptionsT:
    """Check the arguments.

    Args:
        args: as the command line read them.
        options: what they may be, field by field.
        model: the kind of model, as a message calls it.

    Raises:
        UnknownName: there is no such argument.
        UserError: a value is of the wrong kind.
    """
    for name in args:
        if name not in options.__struct_fields__:
            raise UnknownName(f"argument of a {model} model", name, options.__struct_fields__)
    try:
        return msgspec.convert(dict(args), options, strict=False)
    except msgspec.ValidationError as error:
        raise UserError(f"model argument not understood: {error}; write `model_args` key=value") from None
