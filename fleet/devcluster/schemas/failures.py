"""What a value fails of its schema, before the server turns it into causes. Pure.

Texts are those of kube-openapi pkg/validation/errors, turned into field errors as apiextensions-apiserver
pkg/apiserver/validation/validation.go does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from fleet.devcluster.causes import Cause
from fleet.devcluster.schemas.values import quoted, shown

_NOWHERE = "<nil>"


class Failure(NamedTuple):
    """path: dotted, relative to the schema's root; None for a failure that names no field. text: for telling equal
    failures apart, as the real server reports each text once."""

    path: str | None
    reason: str
    message: str
    text: str


def wrong_type(path: str, wanted: str, actual: str) -> Failure:
    text = f"{path} in body must be of type {wanted}: {quoted(actual)}"
    return Failure(path, "FieldValueTypeInvalid", f"Invalid value: {quoted(actual)}: {text}", text)


def invalid(path: str, value: Any, rule: str) -> Failure:
    text = f"{path} in body {rule}"
    return Failure(path, "FieldValueInvalid", f"Invalid value: {shown(value)}: {text}", text)


def nameless(text: str) -> Failure:
    """A failure for which the real server knows no field."""
    return Failure(None, "FieldValueInvalid", f'Invalid value: "": {text}', text)


def required(path: str) -> Failure:
    return Failure(path, "FieldValueRequired", "Required value", f"{path} in body is required")


def not_in_enum(path: str, value: Any, allowed: Sequence[Any]) -> Failure:
    names = ", ".join(quoted(each if isinstance(each, str) else shown(each)) for each in allowed)
    message = f"Unsupported value: {shown(value)}: supported values: {names}"
    return Failure(path, "FieldValueNotSupported", message, f"{path} in body should be one of {names}")


def too_long(path: str, limit: int) -> Failure:
    unit = "byte" if limit == 1 else "bytes"
    text = f"{path} in body should be at most {limit} chars long"
    return Failure(path, "FieldValueTooLong", f"Too long: may not be more than {limit} {unit}", text)


def too_many(path: str, count: int, limit: int, what: str) -> Failure:
    """what: items or properties."""
    unit = "item" if limit == 1 else "items"
    text = f"{path} in body should have at most {limit} {what}"
    return Failure(path, "FieldValueTooMany", f"Too many: {count}: must have at most {limit} {unit}", text)


def add(failures: list[Failure], more: Sequence[Failure]) -> None:
    """Appends what has not been reported yet."""
    for each in more:
        if all(each.text != known.text for known in failures):
            failures.append(each)


def causes_of(failures: Sequence[Failure], root: str = "") -> Iterator[Cause]:
    """root: the field that the schema describes; "" for the object as a whole."""
    for each in failures:
        path = (each.path or "").removeprefix(".")
        field = root or _NOWHERE if path in ("", ".") else f"{root}.{path}" if root else path
        yield Cause(each.reason, each.message, field)
