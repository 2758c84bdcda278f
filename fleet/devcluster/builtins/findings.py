"""Causes in the words of the real server (apimachinery, util/validation/field)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from fleet.devcluster.causes import Cause

IMMUTABLE = "field is immutable"


def invalid(field: str, value: Any, why: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", field)


def immutable(field: str, value: Any) -> Cause:
    return invalid(field, value, IMMUTABLE)


def required(field: str, why: str = "") -> Cause:
    return Cause("FieldValueRequired", f"Required value: {why}" if why else "Required value", field)


def forbidden(field: str, why: str) -> Cause:
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def unsupported(field: str, value: Any, supported: Sequence[str]) -> Cause:
    choices = ", ".join(f'"{each}"' for each in supported)
    return Cause("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {choices}", field)


def shown(value: Any) -> str:
    """A value as JSON."""
    return "null" if value is None else msgspec.json.encode(value).decode()
