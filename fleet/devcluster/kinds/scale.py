"""The scale subresource: a view on the number of replicas that looks alike for all kinds. Pure.

After apiextensions-apiserver pkg/registry/customresource/etcd.go and the scale of apps/v1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fleet.devcluster.causes import Cause
from shards.objects import Object

_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_MOST = 2**31 - 1
_OPERATORS = {"In": "in", "NotIn": "notin"}


class ScaleFault(ValueError):
    """A field on the way is no object, or the value is no number. The text is that of the real server."""


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where the numbers are. selector: a label selector, or its text; () for none."""

    spec: tuple[str, ...] = ("spec", "replicas")
    status: tuple[str, ...] = ("status", "replicas")
    selector: tuple[str, ...] = ()

    @classmethod
    def declared(cls, scale: Mapping[str, Any]) -> ScalePaths:
        """Of a definition's `subresources.scale`."""
        return cls(
            *(_split(scale.get(f"{name}Path", "")) for name in ("specReplicas", "statusReplicas", "labelSelector"))
        )

    @property
    def spec_text(self) -> str:
        """ ".spec.replicas"."""
        return "." + ".".join(self.spec)


BUILT_IN_PATHS: Final = ScalePaths(selector=("spec", "selector"))
"""Of deployments, replica sets, stateful sets and replication controllers."""


def scale_of(paths: ScalePaths, body: Object) -> Object:
    """The Scale of an object; `spec.replicas` is missing where the object has none. Raises ScaleFault."""
    replicas, current = number_at(body, paths.spec), number_at(body, paths.status)
    selector = found_at(body, paths.selector) if paths.selector else None
    metadata = {name: body["metadata"][name] for name in _METADATA if name in body["metadata"]}
    scale: Object = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata}
    scale["spec"] = {} if not replicas else {"replicas": replicas}
    scale["status"] = {"replicas": current or 0}
    text = selector if isinstance(selector, str) else selector_text(selector or {})
    if text:
        scale["status"]["selector"] = text
    return scale


def scaled(paths: ScalePaths, body: Object, replicas: int) -> Object:
    """A copy of an object with so many replicas wanted; what the paths do not touch is shared with it."""
    made: Object = dict(body)
    inner = made
    for name in paths.spec[:-1]:
        inner[name] = dict(inner.get(name) or {})
        inner = inner[name]
    inner[paths.spec[-1]] = replicas
    return made


def found_at(body: Any, path: Sequence[str]) -> Any:
    """None where nothing is. Raises ScaleFault."""
    for name in path:
        if not isinstance(body, dict):
            kind = {str: "string", bool: "bool", int: "int64", float: "float64"}.get(type(body), "[]interface {}")
            where = "." + ".".join(path)
            raise ScaleFault(f"{where} accessor error: {body} is of the type {kind}, expected map[string]interface{{}}")
        body = body.get(name)
        if body is None:
            return None
    return body


def number_at(body: Any, path: Sequence[str]) -> int | None:
    """None where nothing is. Raises ScaleFault."""
    found = found_at(body, path)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int):
        kind = {str: "string", bool: "bool", float: "float64", list: "[]interface {}"}.get(
            type(found), "map[string]interface {}"
        )
        where = "." + ".".join(path)
        raise ScaleFault(f"{where} accessor error: {found} is of the type {kind}, expected int64")
    return found


def scale_causes(paths: ScalePaths, body: Any, *, status_only: bool) -> Iterator[Cause]:
    """What is wrong with the numbers and the selector of a custom resource."""
    for path in (paths.status,) if status_only else (paths.spec, paths.status):
        field = "." + ".".join(path)
        try:
            number = number_at(body, path) or 0
        except ScaleFault as fault:
            yield Cause("FieldValueInvalid", f"Invalid value: 0: {fault}", field)
            continue
        if number < 0:
            yield Cause("FieldValueInvalid", f"Invalid value: {number}: should be a non-negative integer", field)
        elif number > _MOST:
            yield Cause("FieldValueInvalid", f"Invalid value: {number}: should be less than or equal to {_MOST}", field)


def selector_text(selector: Mapping[str, Any]) -> str:
    """A label selector in the form of a query: "a=b,x in (1,2)". Of a plain map of labels as well."""
    structured = "matchLabels" in selector or "matchExpressions" in selector
    labels: Mapping[str, str] = (selector.get("matchLabels") or {}) if structured else selector
    parts = [(key, f"{key}={value}") for key, value in labels.items()]
    for each in (selector.get("matchExpressions") or ()) if structured else ():
        key, operator = each["key"], each["operator"]
        if operator in _OPERATORS:
            values = ",".join(sorted(each.get("values") or ()))
            parts.append((key, f"{key} {_OPERATORS[operator]} ({values})"))
        else:
            parts.append((key, key if operator == "Exists" else f"!{key}"))
    return ",".join(text for _, text in sorted(parts))


def _split(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix(".").split(".")) if path else ()
