"""Where the rules of single kinds are kept: files of rules enter theirs with the decorators of `rule`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from fleet.devcluster.causes import Cause
from shards.objects import Object

Change = Callable[[Object], None]
Update = Callable[[Object, Object], None]
Check = Callable[[Object, Object | None], Iterator[Cause]]
Function = TypeVar("Function", bound=Callable[..., Any])
Key = tuple[str, str]


class Rulebook:
    """Functions by group and plural.

    defaults: what decoding adds; its author owns the fields. creation: what the server adds to a new object.
    update: (new, old), what it keeps of the old one or adds. checks: (new, old or None), what is wrong.
    """

    def __init__(self) -> None:
        self.default_rules: dict[Key, Change] = {}
        self.creation_rules: dict[Key, Change] = {}
        self.update_rules: dict[Key, Update] = {}
        self.check_rules: dict[Key, Check] = {}

    def defaults(self, group: str, *plurals: str) -> Callable[[Function], Function]:
        return _entering(self.default_rules, group, plurals)

    def creation(self, group: str, *plurals: str) -> Callable[[Function], Function]:
        return _entering(self.creation_rules, group, plurals)

    def update(self, group: str, *plurals: str) -> Callable[[Function], Function]:
        return _entering(self.update_rules, group, plurals)

    def checks(self, group: str, *plurals: str) -> Callable[[Function], Function]:
        return _entering(self.check_rules, group, plurals)


def _entering(rules: dict[Key, Any], group: str, plurals: tuple[str, ...]) -> Callable[[Function], Function]:
    def enter(function: Function) -> Function:
        for plural in plurals:
            rules[group, plural] = function
        return function

    return enter


rule: Final = Rulebook()
