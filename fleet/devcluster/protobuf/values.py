"""Messages whose JSON form is no object of their fields: times, quantities, numbers or text, JSON in JSON. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from fleet.devcluster.protobuf.wire import ProtobufError, fields, signed

DecodeMessage = Callable[[str, bytes], dict[str, Any]]
"""(message name, bytes) -> JSON object."""
Special = Callable[[bytes, DecodeMessage], Any]

_META: Final = "k8s.io.apimachinery.pkg.apis.meta.v1"
_CRD: Final = "k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.v1"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_GO_ZERO_SECONDS: Final = -62_135_596_800
"""The zero time of Go, in seconds since 1970: it is written as null."""


def _numbers(raw: bytes) -> dict[int, int]:
    return {number: signed(value) for number, _, value in fields(raw) if isinstance(value, int)}


def _texts(raw: bytes, number: int) -> list[str]:
    return [value.decode() for found, _, value in fields(raw) if found == number and isinstance(value, bytes)]


def _time(raw: bytes, _: DecodeMessage) -> str | None:
    found = _numbers(raw)
    if not found or found.get(1) == _GO_ZERO_SECONDS:
        return None
    return (_EPOCH + timedelta(seconds=found.get(1, 0))).strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(raw: bytes, _: DecodeMessage) -> str | None:
    found = _numbers(raw)
    if not found or found.get(1) == _GO_ZERO_SECONDS:
        return None
    moment = _EPOCH + timedelta(seconds=found.get(1, 0), microseconds=found.get(2, 0) // 1000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _text(raw: bytes, _: DecodeMessage) -> str:
    return "".join(_texts(raw, 1))


def _list(raw: bytes, _: DecodeMessage) -> list[str]:
    return _texts(raw, 1)


def _int_or_string(raw: bytes, _: DecodeMessage) -> int | str:
    numbers = _numbers(raw)
    return "".join(_texts(raw, 3)) if numbers.get(1) else numbers.get(2, 0)


def _json(raw: bytes, _: DecodeMessage) -> Any:
    """A message that holds JSON in its first field; null without it."""
    found = [value for number, _, value in fields(raw) if number == 1 and isinstance(value, bytes)]
    try:
        return msgspec.json.decode(found[0]) if found and found[0] else None
    except msgspec.DecodeError as error:
        raise ProtobufError(f"a part that should be JSON is not: {error}") from None


def _schema_or(key: int, otherwise: Callable[[bytes], Any]) -> Special:
    """A schema in field 1 or 2, or else something simpler."""

    def special(raw: bytes, decode: DecodeMessage) -> Any:
        found = [value for number, _, value in fields(raw) if number == key and isinstance(value, bytes)]
        return decode(f"{_CRD}.JSONSchemaProps", found[0]) if found else otherwise(raw)

    return special


def _schemas(raw: bytes, decode: DecodeMessage) -> Any:
    one = [value for number, _, value in fields(raw) if number == 1 and isinstance(value, bytes)]
    if one:
        return decode(f"{_CRD}.JSONSchemaProps", one[0])
    many = [value for number, _, value in fields(raw) if number == 2 and isinstance(value, bytes)]
    return [decode(f"{_CRD}.JSONSchemaProps", each) for each in many]


def _duration(raw: bytes, _: DecodeMessage) -> str:
    """Nanoseconds as Go prints them: 1h2m3s, with a fraction of a second where there is one."""
    nanoseconds = _numbers(raw).get(1, 0)
    sign, nanoseconds = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    minutes, rest = divmod(nanoseconds, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest / 1e9:.9f}".rstrip("0").rstrip(".") + "s"
    return sign + (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + seconds


SPECIAL: Final[Mapping[str, Special]] = {
    f"{_META}.Time": _time,
    f"{_META}.MicroTime": _micro_time,
    f"{_META}.Duration": _duration,
    f"{_META}.FieldsV1": _json,
    f"{_META}.Verbs": _list,
    "k8s.io.apimachinery.pkg.runtime.RawExtension": _json,
    "k8s.io.apimachinery.pkg.api.resource.Quantity": _text,
    "k8s.io.apimachinery.pkg.util.intstr.IntOrString": _int_or_string,
    "k8s.io.api.authentication.v1.ExtraValue": _list,
    "k8s.io.api.authorization.v1.ExtraValue": _list,
    "k8s.io.api.certificates.v1.ExtraValue": _list,
    f"{_CRD}.JSON": _json,
    f"{_CRD}.JSONSchemaPropsOrArray": _schemas,
    f"{_CRD}.JSONSchemaPropsOrBool": _schema_or(2, lambda raw: bool(_numbers(raw).get(1))),
    f"{_CRD}.JSONSchemaPropsOrStringArray": _schema_or(1, lambda raw: _texts(raw, 2)),
}
