"""What people ordered of a fleet: nothing is moved, a member is emptied. The text of its `controls` document. Pure.

    {"frozen": {"by": "ann", "why": "incident 12", "since": "2026-11-30T09:12:44Z"},
     "drained": {"web-3": {"by": "ann", "why": "disk", "since": "2026-11-30T09:20:00Z"}}}

Commands write it, and people edit it. Fields that this program does not know are kept by whoever writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from fleet.records.cut_request import CutRequest, parse_request, request_written
from fleet.records.record import MemberRecord


class ControlsUnreadable(ValueError):
    """The text says nothing that could be followed. The message names the field, and what would be right."""


@dataclass(frozen=True, slots=True)
class Order:
    """by: who gave it. since: RFC 3339, by the clock of whoever wrote it; "" where nobody said. other: what else is
    written there."""

    by: str = ""
    why: str = ""
    since: str = ""
    other: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        told = [f"since {self.since}" if self.since else "", f"by {self.by}" if self.by else ""]
        return " ".join(filter(None, told)) + (f": {self.why}" if self.why else "")


@dataclass(frozen=True, slots=True)
class Controls:
    """frozen: nothing moves by choice; None while it may. drained: by the name of a member or of a pod, which are to be
    given nothing and to hand over what they have. requests: for cuts of single ranges, done or not. other: fields of
    the document that are not known here."""

    frozen: Order | None = None
    drained: Mapping[str, Order] = field(default_factory=dict)
    requests: tuple[CutRequest, ...] = ()
    other: Mapping[str, Any] = field(default_factory=dict)

    def names_drained(self, members: Mapping[str, MemberRecord]) -> frozenset[str]:
        """Names of the members that are drained by their own name or by their pod's."""
        return frozenset(name for name, record in members.items() if {name, record.pod} & self.drained.keys())

    def freeze(self, order: Order) -> Controls:
        return replace(self, frozen=order)

    def unfreeze(self) -> Controls:
        return replace(self, frozen=None)

    def drain(self, name: str, order: Order) -> Controls:
        return replace(self, drained={**self.drained, name: order})

    def undrain(self, *names: str) -> Controls:
        return replace(self, drained={each: order for each, order in self.drained.items() if each not in names})


def parse_controls(text: str) -> Controls:
    """An empty text orders nothing. Raises ControlsUnreadable."""
    if not text.strip():
        return Controls()
    try:
        body = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ControlsUnreadable(f"it is not a JSON object: {error}") from error
    frozen, drained = body.pop("frozen", None), body.pop("drained", None) or {}
    if not isinstance(drained, dict):
        raise ControlsUnreadable('drained: write an object of names, such as {"web-3": {"why": "disk"}}')
    requests = body.pop("requests", None) or ()
    if not isinstance(requests, list | tuple):
        raise ControlsUnreadable('requests: write a list, such as [{"number": 1, "merge": ["...", "..."]}]')
    return Controls(
        frozen=None if frozen is None or frozen is False else _order("frozen", frozen),
        drained={name: _order(f"drained.{name}", order) for name, order in drained.items()},
        requests=tuple(_request(f"requests[{i}]", found) for i, found in enumerate(requests)),
        other=body,
    )


def _request(path: str, found: Any) -> CutRequest:
    try:
        return parse_request(found)
    except ValueError as error:
        raise ControlsUnreadable(f"{path}: {error}; ask for cuts with fleet reshard --split or --merge") from error


def controls_text(controls: Controls) -> str:
    """What `parse_controls` reads, indented for people."""
    body = dict(controls.other)
    if controls.frozen is not None:
        body["frozen"] = _written(controls.frozen)
    if controls.drained:
        body["drained"] = {name: _written(order) for name, order in sorted(controls.drained.items())}
    if controls.requests:
        body["requests"] = [request_written(each) for each in controls.requests]
    return msgspec.json.format(msgspec.json.encode(body), indent=1).decode()


def _order(path: str, found: Any) -> Order:
    """True stands for an order that says nothing about itself."""
    if found is True or found is None:
        return Order()
    if not isinstance(found, dict):
        raise ControlsUnreadable(f'{path}: write an object such as {{"by": "ann", "why": "incident 12"}}')
    rest = dict(found)
    told = {name: rest.pop(name, "") for name in ("by", "why", "since")}
    for name, value in told.items():
        if not isinstance(value, str):
            raise ControlsUnreadable(
                f"{path}.{name}: write a text in quotes, not {msgspec.json.encode(value).decode()}"
            )
    return Order(**told, other=rest)


def _written(order: Order) -> dict[str, Any]:
    return {**order.other, "by": order.by, "why": order.why, "since": order.since}
