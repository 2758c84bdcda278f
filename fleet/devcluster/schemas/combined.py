"""Values against the schemas that one schema combines: anyOf, oneOf, allOf and not. Pure.

After kube-openapi pkg/validation/validate/schema_props.go: of alternatives that all fail, the one with the most matches
is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from fleet.devcluster.schemas import failures as fail
from fleet.devcluster.schemas.failures import Failure
from fleet.devcluster.schemas.values import UNKNOWN, quoted


class Part(Protocol):
    """One compiled schema inside of another."""

    def walk_part(self, value: Any, path: str, into: list[Failure], old: Any) -> int:
        """Adds the failures, and answers the number of matches."""


class Combined:
    """What one node of a schema combines. False where that is nothing."""

    __slots__ = ("_all", "_any", "_not", "_one")

    def __init__(self, schema: Mapping[str, Any], compiled: Callable[[Mapping[str, Any]], Part]) -> None:
        self._any, self._one, self._all = (
            [compiled(each) for each in schema.get(name) or ()] for name in ("anyOf", "oneOf", "allOf")
        )
        forbidden = schema.get("not")
        self._not = compiled(forbidden) if isinstance(forbidden, Mapping) else None

    def __bool__(self) -> bool:
        return bool(self._any or self._one or self._all or self._not is not None)

    def check(self, value: Any, path: str, into: list[Failure], old: Any) -> int:
        """Adds the failures, and answers the number of matches."""
        matches = self._check_any(value, path, into, old) if self._any else 0
        if self._one:
            matches += self._check_one(value, path, into, old)
        if self._all:
            matches += self._check_all(value, path, into, old)
        if self._not is not None:
            inner: list[Failure] = []
            self._not.walk_part(value, path, inner, UNKNOWN)
            if not inner:
                fail.add(into, [fail.nameless(f"{quoted(path)} must not validate the schema (not)")])
        return matches

    def _check_any(self, value: Any, path: str, into: list[Failure], old: Any) -> int:
        best: tuple[list[Failure], int] | None = None
        for check in self._any:
            found: list[Failure] = []
            matches = check.walk_part(value, path, found, old)
            if not found:
                return matches
            if best is None or matches > best[1]:
                best = found, matches
        fail.add(into, [fail.nameless(f"{quoted(path)} must validate at least one schema (anyOf)")])
        return _reported(best, into)

    def _check_one(self, value: Any, path: str, into: list[Failure], old: Any) -> int:
        best: tuple[list[Failure], int] | None = None
        first, valid = 0, 0
        for check in self._one:
            found: list[Failure] = []
            matches = check.walk_part(value, path, found, old)
            if not found:
                first, valid, best = first or matches, valid + 1, None
            elif not valid and (best is None or matches > best[1]):
                best = found, matches
        if valid == 1:
            return first
        how = "Found none valid" if not valid else f"Found {valid} valid alternatives"
        fail.add(into, [fail.nameless(f"{quoted(path)} must validate one and only one schema (oneOf). {how}")])
        return _reported(best, into)

    def _check_all(self, value: Any, path: str, into: list[Failure], old: Any) -> int:
        total, valid = 0, 0
        for check in self._all:
            found: list[Failure] = []
            total += check.walk_part(value, path, found, old)
            valid += not found
            fail.add(into, found)
        if valid != len(self._all):
            none = "" if valid else ". None validated"
            fail.add(into, [fail.nameless(f"{quoted(path)} must validate all the schemas (allOf){none}")])
        return total


def _reported(best: tuple[list[Failure], int] | None, into: list[Failure]) -> int:
    """Adds the failures of the alternative that came nearest; answers its matches."""
    fail.add(into, best[0] if best else [])
    return best[1] if best else 0
