"""Metrics of HorizontalPodAutoscalers: those of autoscaling/v2 and the flat ones in the annotations of v1. Pure.

Fields come in the order of the Go types, as the annotations are compared as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Metric = Mapping[str, Any]
_REFERENCE = ("kind", "name", "apiVersion")


def metric_of_v2(metric: Metric) -> dict[str, Any]:
    """A flat metric of what is wanted."""
    return _flat(metric, "target", measured=False)


def metric_of_v1(flat: Metric) -> dict[str, Any]:
    """The way back."""
    kind, part, about = _part(flat)
    average = about.get("averageValue" if part == "object" else "targetAverageValue")
    value, percent = about.get("targetValue"), about.get("targetAverageUtilization")
    if part == "object" and average is not None and value == "0":
        value = None
    aim = "Utilization" if percent is not None else "AverageValue" if average is not None else "Value"
    target = _given({"type": aim, "value": value, "averageValue": average, "averageUtilization": percent})
    return {"type": kind, part: {**_subject(part, about), "target": target}}


def status_of_v2(metric: Metric) -> dict[str, Any]:
    """A flat metric of what was measured."""
    return _flat(metric, "current", measured=True)


def status_of_v1(flat: Metric) -> dict[str, Any]:
    """The way back."""
    kind, part, about = _part(flat)
    average = about.get("averageValue" if part == "object" else "currentAverageValue")
    if about.get("currentAverageUtilization") is not None and average == "0":
        average = None  # v1 cannot leave it out
    current = {
        "value": about.get("currentValue"),
        "averageValue": average,
        "averageUtilization": about.get("currentAverageUtilization"),
    }
    return {"type": kind, part: {**_subject(part, about), "current": _given(current)}}


def _flat(metric: Metric, side: str, *, measured: bool) -> dict[str, Any]:
    """side: the field of v2 with the figures, and how those of v1 begin. measured: figures that v1 cannot leave out."""
    kind, part, about = _part(metric)
    figures, named = about.get(side) or {}, about.get("metric") or {}
    value, average = figures.get("value"), figures.get("averageValue")
    if part in ("resource", "containerResource"):
        flat = {
            "name": about.get("name", ""),
            f"{side}AverageUtilization": figures.get("averageUtilization"),
            f"{side}AverageValue": (average or "0") if measured else average,
            "container": about.get("container"),
        }
    elif part == "pods":
        flat = {
            "metricName": named.get("name", ""),
            f"{side}AverageValue": average or "0",
            "selector": named.get("selector"),
        }
    elif part == "object":
        flat = {
            "target": _reference(about.get("describedObject")),
            "metricName": named.get("name", ""),
            f"{side}Value": value or "0",
            "selector": named.get("selector"),
            "averageValue": average,
        }
    else:
        flat = {
            "metricName": named.get("name", ""),
            "metricSelector": named.get("selector"),
            f"{side}Value": (value or "0") if measured else value,
            f"{side}AverageValue": average,
        }
    return {"type": kind, part: _given(flat)}


def _part(metric: Metric) -> tuple[str, str, Metric]:
    """The kind of a metric, the name of the field for it, and what is in there."""
    kind = str(metric.get("type", ""))
    part = kind[:1].lower() + kind[1:]
    return kind, part, metric.get(part) or {}


def _subject(part: str, about: Metric) -> dict[str, Any]:
    """What is measured, in the terms of v2."""
    if part in ("resource", "containerResource"):
        return _given({"name": about.get("name", ""), "container": about.get("container")})
    selector = about.get("metricSelector" if part == "external" else "selector")
    named = {"metric": _given({"name": about.get("metricName", ""), "selector": selector})}
    return {"describedObject": _reference(about.get("target")), **named} if part == "object" else named


def _reference(target: Metric | None) -> dict[str, Any]:
    found = target or {}
    return {name: found.get(name, "") for name in _REFERENCE if found.get(name) or name != "apiVersion"}


def _given(fields: Metric) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
