"""Defaults, additions and refusals of built-in resources, as far as controllers can tell the difference. Pure.

Bodies are changed in place. Kinds without a rule of their own are only written as their Go type would be.
"""

from __future__ import annotations

from typing import Final

from fleet.devcluster.builtins import basics, events, jobs, networks, podchecks, podspecs, policies, volumes, workloads
from fleet.devcluster.builtins.rulebook import rule
from fleet.devcluster.builtins.values import shape_of
from fleet.devcluster.causes import Cause
from fleet.devcluster.kinds.resources import ResourceType
from shards.objects import Object

_NOT_COUNTED: Final = ("kind", "apiVersion", "metadata", "status")
_ALSO_COUNTED: Final = {"Deployment": "annotations", "EndpointSlice": "labels"}
"""Metadata whose change counts as well, by kind."""

RULE_FILES = (basics, events, jobs, networks, podchecks, podspecs, policies, volumes, workloads)
"""Entered into the rulebook by their import."""


def complete(kind: ResourceType, body: Object, *, creating: bool) -> None:
    """What decoding makes of a body with known fields: empty fields as its Go type writes them, and defaults."""
    if kind.defines:
        return
    shape_of(kind.type_name).settle(body)
    reshaping = kind.reshaping
    if reshaping is not None:
        # The real server reads every version into one inner type, and the defaults of both versions meet there.
        again = reshaping.show(reshaping.store(body))
        body.clear()
        body.update(again)
        return
    defaults = rule.default_rules.get(kind.group_resource)
    if defaults is not None:
        defaults(body)


def prepare_create(kind: ResourceType, body: Object) -> None:
    """What the server itself adds to a new object; no client owns these fields."""
    if not kind.defines:
        shape = shape_of(kind.type_name)
        shape.stored(body)
        empty = shape.empty("status") if kind.status else None
        if empty is not None:
            body["status"] = empty
    creation = rule.creation_rules.get(kind.group_resource)
    if creation is not None:
        creation(body)


def prepare_update(kind: ResourceType, body: Object, old: Object) -> None:
    """What the server keeps of an object that an update replaces."""
    if not kind.defines:
        shape_of(kind.type_name).stored(body)
    update = rule.update_rules.get(kind.group_resource)
    if update is not None:
        update(body, old)


def generation_moves(kind: ResourceType, body: Object, old: Object) -> bool:
    """Whether an update asks for something new: of a kind whose generation counts that."""
    if not kind.generation or kind.kind == "PriorityClass":
        return False
    watched = _ALSO_COUNTED.get(kind.kind)
    if watched is not None and body["metadata"].get(watched) != old["metadata"].get(watched):
        return True
    names = {*body, *old}.difference(_NOT_COUNTED)
    return any(body.get(name) != old.get(name) for name in names)


def causes(kind: ResourceType, body: Object, old: Object | None) -> list[Cause]:
    """What is wrong with the content. old: the object that an update replaces."""
    checks = rule.check_rules.get(kind.group_resource)
    return [] if checks is None else list(checks(body, old))
