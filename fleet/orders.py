"""Changes what is ordered of a fleet, for the commands that people give: a compare-and-swap of its `controls`."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from datetime import UTC, datetime

from fleet import __version__
from fleet.backends.document_change import change_document
from fleet.backends.kubernetes_leases import KubernetesCoordination
from fleet.records.controls import Controls, ControlsUnreadable, Order, controls_text, parse_controls
from fleet.records.coordination import CasConflict, CoordinationUnavailable
from fleet.records.object_names import Names
from fleet.records.record import Document, DocumentName
from shards.api.client import Transport
from shards.errors import ShardError

_TRIES = 5


class OrderFailed(ShardError):
    """Nothing was ordered. The message says why, and what would help."""


def coordination_of(transport: Transport, names: Names, command: str) -> KubernetesCoordination:
    """The fleet's records for a command. command: as in `fleet COMMAND`, for the server's audit log."""
    agent = f"fleet-{command}/{__version__}"
    return KubernetesCoordination(transport, fleet=names.fleet, namespace=names.namespace, user_agent=lambda: agent)


def order(why: str) -> Order:
    """Given now, by whoever runs this command."""
    try:
        by = getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        by = ""
    return Order(by, why, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))


async def change_controls(
    coordination: KubernetesCoordination, change: Callable[[Controls], Controls]
) -> tuple[Controls, Controls]:
    """What was ordered before and after. Writes nothing where that is the same. Raises OrderFailed and ConfigError."""
    name = coordination.names.document(DocumentName.CONTROLS)
    before = after = Controls()

    def edit(found: Document | None) -> str | None:
        nonlocal before, after
        before = _read(name, found)
        after = change(before)
        return None if after == before else controls_text(after)

    try:
        await change_document(coordination, DocumentName.CONTROLS, edit, attempts=_TRIES)
    except CoordinationUnavailable as error:
        sure = "it is not known whether that was ordered" if error.maybe_applied else "nothing was ordered"
        raise OrderFailed(f"{sure}: {error}") from error
    except CasConflict as conflict:
        raise OrderFailed(f"ConfigMap {name} changes all the time; nothing was ordered, try again") from conflict
    return before, after


async def read_controls(coordination: KubernetesCoordination) -> Controls:
    """What is ordered now. Raises OrderFailed, ConfigError and CoordinationUnavailable."""
    name = coordination.names.document(DocumentName.CONTROLS)
    return _read(name, await coordination.read_document(DocumentName.CONTROLS))


def _read(name: str, found: Document | None) -> Controls:
    try:
        return parse_controls(found.text if found is not None else "")
    except ControlsUnreadable as error:
        raise OrderFailed(
            f"ConfigMap {name} cannot be read, so nothing was ordered: {error}; mend it with `kubectl edit configmap"
            f" {name}`, or delete it to order nothing"
        ) from error
