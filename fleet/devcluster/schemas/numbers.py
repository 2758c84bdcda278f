"""Numbers against a schema: the range of their type, bounds and steps. Pure.

After kube-openapi pkg/validation/validate/values.go, where bounds are float64 and an integer is compared as int64.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from fleet.devcluster.schemas.failures import Failure, add, invalid, nameless
from fleet.devcluster.schemas.values import INT64_MAX, INT64_MIN, is_json_integer, number_text


def number_failures(
    value: float, types: Sequence[str], format_name: str, schema: Mapping[str, Any], path: str
) -> list[Failure]:
    """types: of the schema; only a single one has a range. format_name: "" for none."""
    kind = types[0] if len(types) == 1 and types[0] in ("integer", "number") else ""
    name = format_name if kind else ""
    found: list[Failure] = []
    if _leaves_range(value, kind, name):
        found.append(_range_failure("Checked", kind, name, path))
    step = schema.get("multipleOf")
    if step is not None:
        if _leaves_range(step, kind, name):
            add(found, [_range_failure("MultipleOf", kind, name, path)])
        add(found, _step_failures(value, step, path))
    for bound, boundary, exclusive in (
        ("minimum", "Minimum boundary", "exclusiveMinimum"),
        ("maximum", "Maximum boundary", "exclusiveMaximum"),
    ):
        limit = schema.get(bound)
        if limit is None:
            continue
        if _leaves_range(limit, kind, name):
            add(found, [_range_failure(boundary, kind, name, path)])
        add(found, _bound_failures(value, limit, path, upper=bound == "maximum", strict=bool(schema.get(exclusive))))
    return found


def _leaves_range(value: float, kind: str, name: str) -> bool:
    if kind == "integer":
        if value != int(value):
            return True
        low, high = (-(2**31), 2**31 - 1) if name == "int32" else (INT64_MIN, INT64_MAX)
        return not low <= value <= high
    if name == "float":
        try:
            struct.pack("f", value)
        except OverflowError:
            return True
    return False


def _range_failure(what: str, kind: str, name: str, path: str) -> Failure:
    wanted = f"with format {name}" if name else "(default format)"
    return nameless(f"{what} value must be of type {kind} {wanted} in {path}")


def _step_failures(value: float, step: float, path: str) -> list[Failure]:
    whole = isinstance(value, int)
    by: float = int(step) if whole else step
    if by <= 0:
        text = f"factor MultipleOf declared for {path} must be positive: {number_text(by)}"
        return [Failure(path, "FieldValueInvalid", f"Invalid value: {number_text(by)}: {text}", text)]
    times = 1 / by * value if by < 1 else value / by
    fits = value % by == 0 if whole else is_json_integer(times)
    return [] if fits else [invalid(path, value, f"should be a multiple of {number_text(by)}")]


def _bound_failures(value: float, limit: float, path: str, *, upper: bool, strict: bool) -> list[Failure]:
    bound: float = int(limit) if isinstance(value, int) else limit
    beyond = value > bound if upper else value < bound
    if not beyond and not (strict and value == bound):
        return []
    than = "less than" if upper else "greater than"
    rule = f"should be {than} {number_text(bound)}" if strict else f"should be {than} or equal to {number_text(bound)}"
    return [invalid(path, value, rule)]
