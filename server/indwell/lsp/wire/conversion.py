"""Converts JSON to typed values and back, strictly; an error names the wrong field."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec

from indwell.lsp.messages.values import CommandArguments, Value
from indwell.lsp.wire.base_protocol import parsed
from indwell.prepared_types import prepared

if TYPE_CHECKING:
    from attrs import Attribute
    from cattrs import Converter

_NAMES = {"str": "a text", "int": "a whole number", "bool": "true or false"}
# lsprotocol resolves its types with the first converter, which only one thread may do.
_MAKING = Lock()
_SHOWN = 300  # the limit of characters for a message about wrong params


class WrongParams(Exception):
    """Params that do not have the method's type; the message names the field."""


@cache
def strict_converter() -> Converter:
    """Return the converter of messages, which the first call creates in 250 ms.

    Document changes and code actions need no converter, and a starting editor sends only those. The
    converter accepts no list as a text and no text as a number; cattrs alone would convert both
    with ``str``.
    """
    from pygls.protocol import default_converter

    with _MAKING:
        converter: Converter = default_converter()  # type: ignore[no-untyped-call]
    converter.register_structure_hook(str, _text)
    converter.register_structure_hook(bool, _boolean)
    converter.register_structure_hook(int, _integer)
    teach_messages(converter)
    return converter


def teach_messages(converter: Converter, *, omit_defaults: bool = False) -> None:
    """Register Indwell's messages with a converter.

    The server sends every field, so no client has to know a default value.
    """
    from cattrs.gen import make_dict_structure_fn_from_attrs, make_dict_unstructure_fn_from_attrs

    def is_message(type_: object) -> bool:
        return isinstance(type_, type) and issubclass(type_, Value)

    def structuring(type_: type[Value]) -> Callable[..., Value]:
        return make_dict_structure_fn_from_attrs(
            _fields(type_),
            type_,
            converter,
            _cattrs_forbid_extra_keys=issubclass(type_, CommandArguments),
        )

    def unstructuring(type_: type[Value]) -> Callable[[Value], dict[str, Any]]:
        return make_dict_unstructure_fn_from_attrs(
            _fields(type_), type_, converter, _cattrs_omit_if_default=omit_defaults
        )

    converter.register_structure_hook_factory(is_message, structuring)
    converter.register_unstructure_hook_factory(is_message, unstructuring)


def _fields(type_: type[Value]) -> list[Attribute[Any]]:
    """Return the fields of a message as ``attrs`` attributes, for cattrs."""
    import attrs

    fields = {
        one.name: attrs.field(type=one.type, default=attrs.NOTHING if one.required else one.default)
        for one in msgspec.structs.fields(type_)
    }
    return list(attrs.fields(attrs.make_class(type_.__name__, fields)))


def structure(value: object, type_: Any) -> Any:  # noqa: ANN401 - a class comes in
    """Convert JSON data to a value of ``type_``.

    Raises:
        WrongParams: The data does not fit.
    """
    try:
        return strict_converter().structure(value, type_)
    except Exception as error:
        from cattrs import transform_error

        # cattrs wraps every error of a field's converter.
        found = transform_error(error, path="params", format_exception=_words)
        named = "; ".join(_as_on_the_wire(one) for one in found if one)
        raise WrongParams(named[:_SHOWN] or "params of the wrong type") from error


def unstructure(value: object) -> Any:  # noqa: ANN401 - JSON goes out here
    """Convert a value to JSON data; encoded JSON stays unchanged."""
    return value if isinstance(value, msgspec.Raw) else strict_converter().unstructure(value)


def as_json(value: object) -> Any:  # noqa: ANN401 - JSON goes out here
    """Convert a value of lsprotocol's types to JSON data."""
    return _lsprotocol_converter().unstructure(value)


@cache
def _lsprotocol_converter() -> Converter:
    from lsprotocol.converters import get_converter

    with _MAKING:
        return get_converter()


def converted(raw: msgspec.Raw, type_: type[msgspec.Struct]) -> msgspec.Struct:
    """Convert encoded params to a value of Indwell's types.

    Raises:
        WrongParams: The params do not fit the type.
    """
    try:
        return msgspec.json.decode(raw, type=prepared(type_))
    except (msgspec.DecodeError, UnicodeDecodeError):
        try:  # the JSON may contain half of a surrogate pair, or 2.0 for 2
            return msgspec.convert(with_whole_numbers(decoded(raw)), prepared(type_))
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            words = str(error)
            named = words.replace("$", "params", 1) if "`$" in words else f"params: {words}"
            raise WrongParams(named) from error


def with_whole_numbers(value: object) -> object:
    """Convert ``2.0`` to ``2``, because some JSON writers know only floating-point numbers."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {name: with_whole_numbers(one) for name, one in value.items()}
        case list():
            return [with_whole_numbers(one) for one in value]
        case _:
            return value


def decoded(raw: msgspec.Raw) -> Any:  # noqa: ANN401 - JSON comes in here
    """Decode params to JSON data.

    Raises:
        WrongParams: The params are not valid JSON.
    """
    try:
        return parsed(raw)
    except ValueError as error:
        raise WrongParams(str(error)) from error


def _words(error: BaseException, type_: type | None) -> str:
    """Describe the problem of one field in plain words."""
    from cattrs import ForbiddenExtraKeysError

    name = getattr(type_, "__name__", "")
    match error:
        case KeyError():
            return "required field missing"
        case ForbiddenExtraKeysError():
            return f"unknown: {', '.join(sorted(map(repr, error.extra_fields)))}"
        case TypeError() if str(error).startswith("must be"):
            return str(error)
        case ValueError() | TypeError() if name:
            return f"must be {_NAMES.get(name, name)}"
        case _:
            _value, is_literal, allowed = str(error).partition(" not in literal typing.Literal")
            return f"must be one of {allowed}" if is_literal else "invalid value"


def _text(value: object, type_: type[str]) -> str:
    """Return a text, or a member of an enumeration of texts."""
    if not isinstance(value, str):
        raise TypeError("must be a text")
    return value if type_ is str else type_(value)


def _boolean(value: object, _type: type[bool]) -> bool:
    if not isinstance(value, bool):
        raise TypeError("must be true or false")
    return value


def _integer(value: object, type_: type[int]) -> int:
    """Return a whole number, or a member of an enumeration.

    ``1.0`` is accepted for 1, because some JSON writers write whole numbers so.
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("must be a whole number")
    return value if type_ is int else type_(value)


def _as_on_the_wire(words: str) -> str:
    """Return field names as the editor writes them: ``textDocument``, not ``text_document``."""
    return re.sub(r"(?<=[a-z])_([a-z])", lambda found: found[1].upper(), words)
