"""Field selectors, and the filter that list and watch apply to objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fleet.devcluster.reads.labelselector import LabelTest, SelectorError
from fleet.devcluster.reads.shardselector import ShardSelector
from fleet.devcluster.storage.storage import Stored

_OPERATORS = ("!=", "==", "=")
_ABSENT = {"spec.hostNetwork": "false", "spec.unschedulable": "false"}
"""Fields that read as something else than "" where an object has none."""


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """path=value, or path!=value when negated."""

    path: str
    value: str
    negated: bool = False


def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """Raises SelectorError. The rules are those of apimachinery pkg/fields/selector.go."""
    terms = (_term(text, part) for part in sorted(_split(text)) if part)
    # The real server takes a term of nothing for one that holds always, negated or not.
    return tuple(term for term in terms if term.path or term.value)


def _split(text: str) -> list[str]:
    """At commas, but not at those behind a backslash, which stay as they are."""
    parts, begin, escaped = [], 0, False
    for index, sign in enumerate(text):
        if escaped:
            escaped = False
        elif sign == "\\":
            escaped = True
        elif sign == ",":
            parts.append(text[begin:index])
            begin = index + 1
    return [*parts, text[begin:]]


def _term(text: str, part: str) -> FieldTerm:
    found = [(part.find(sign), order, sign) for order, sign in enumerate(_OPERATORS) if sign in part]
    if not found:
        raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
    position, _, sign = min(found)
    return FieldTerm(part[:position], _unescaped(part[position + len(sign) :]), sign == "!=")


def _unescaped(value: str) -> str:
    if not any(sign in value for sign in "\\,="):
        return value
    kept, signs = [], iter(value)
    for sign in signs:
        if sign == "\\":
            following = next(signs, "")
            if not following or following not in "\\,=":
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{following}")
            kept.append(following)
        elif sign in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(sign)}")
        else:
            kept.append(sign)
    return "".join(kept)


def field_value(body: Mapping[str, Any], path: str) -> str:
    """The value at a dotted path as text, "" where there is none; truth in lower case."""
    if path == "source":
        # Of an Event: the component in it.
        source = body.get("source") or {}
        return str(source.get("component") or body.get("reportingComponent") or "")
    value: Any = body
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    if value is None:
        return _ABSENT.get(path, "")
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class Filter:
    """What a list or watch selects. Decided on metadata; only fields outside metadata make it decode the object."""

    namespace: str = ""
    labels: tuple[LabelTest, ...] = ()
    fields: tuple[FieldTerm, ...] = ()
    shard: ShardSelector | None = None

    @property
    def everything(self) -> bool:
        """Whether it selects by namespace at most."""
        return not (self.labels or self.fields or self.shard)

    @property
    def prefix(self) -> str:
        """How the keys of everything that it can select begin."""
        return f"{self.namespace}/" if self.namespace else ""

    @property
    def name(self) -> str:
        """The only name that it can select, "" where there are several."""
        return next((term.value for term in self.fields if term.path == "metadata.name" and not term.negated), "")

    def named(self, name: str) -> Filter:
        """The same for one object: the watch of a single name."""
        return replace(self, fields=(*self.fields, FieldTerm("metadata.name", name)))

    def admits(self, stored: Stored) -> bool:
        if self.namespace and stored.meta.namespace != self.namespace:
            return False
        return self.admits_within(stored)

    def admits_within(self, stored: Stored) -> bool:
        """The same for an object that is known to be in the namespace."""
        meta = stored.meta
        if self.shard is not None and not self.shard.admits(meta):
            return False
        if self.labels:
            labels = meta.labels or {}
            for test in self.labels:
                if not test(labels):
                    return False
        return not self.fields or self._fields_hold(stored)

    def test(self) -> Callable[[Stored], bool] | None:
        """The quickest form of `admits`; None where every object is admitted."""
        if self.everything:
            namespace = self.namespace
            return (lambda stored: stored.meta.namespace == namespace) if namespace else None
        return self.admits if self.namespace else self.admits_within

    def _fields_hold(self, stored: Stored) -> bool:
        body: Mapping[str, Any] | None = None
        for term in self.fields:
            if term.path == "metadata.name":
                value = stored.meta.name
            elif term.path == "metadata.namespace":
                value = stored.meta.namespace
            else:
                body = stored.decode() if body is None else body
                value = field_value(body, term.path)
            if (value == term.value) is term.negated:
                return False
        return True
