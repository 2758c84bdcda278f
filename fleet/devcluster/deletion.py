"""What a DELETE asks for, and what it makes of an object that something still holds. Pure."""

from __future__ import annotations

import msgspec

from fleet.devcluster import statuses
from fleet.devcluster.requests import Request
from fleet.devcluster.resources import ResourceType
from fleet.devcluster.storage import Stored
from shards.objects import Object

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


class Preconditions(msgspec.Struct, rename="camel"):
    """What the object must be; None: not asked."""

    uid: str | None = None
    resource_version: str | None = None


class DeleteOptions(msgspec.Struct, rename="camel"):
    """Body of a DELETE."""

    preconditions: Preconditions | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    grace_period_seconds: int | None = None
    dry_run: list[str] | None = None


def delete_options(request: Request) -> tuple[DeleteOptions, bool]:
    """The options, from body and query, and whether it is a dry run. Raises StatusError."""
    options = _read(request.body)
    policy = request.option("propagationPolicy")
    if policy and options.propagation_policy is None:
        options.propagation_policy = policy
    if request.option("gracePeriodSeconds") and options.grace_period_seconds is None:
        options.grace_period_seconds = request.number("gracePeriodSeconds")
    return options, request.dry_run or options.dry_run == ["All"]


def _read(raw: bytes | None) -> DeleteOptions:
    """Raises StatusError 400."""
    if not raw:
        return DeleteOptions()
    try:
        return msgspec.json.decode(raw, type=DeleteOptions)
    except msgspec.DecodeError as error:
        raise statuses.bad_request(f"unable to decode DeleteOptions: {error}") from None


def check_preconditions(kind: ResourceType, stored: Stored, wanted: Preconditions | None) -> None:
    """Raises StatusError 409."""
    if wanted is None:
        return
    meta = stored.meta
    if wanted.uid is not None and wanted.uid != meta.uid:
        why = (
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({meta.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise statuses.conflict(kind, meta.name, why, by_kind=True)
    if wanted.resource_version is not None and wanted.resource_version != meta.resource_version:
        why = (
            f"the ResourceVersion in the precondition ({wanted.resource_version}) does not match the ResourceVersion "
            f"in record ({meta.resource_version}). The object might have been modified"
        )
        raise statuses.conflict(kind, meta.name, why, by_kind=True)


def finalizers_after(metadata: Object, options: DeleteOptions) -> list[str]:
    """Finalizers of a deleted object, with those of the propagation policy."""
    present: list[str] = metadata.get("finalizers", [])
    policy = options.propagation_policy
    if options.orphan_dependents is not None:
        orphan, foreground = options.orphan_dependents, False
    elif policy is not None:
        orphan, foreground = policy == "Orphan", policy == "Foreground"
    else:
        orphan, foreground = ORPHAN in present, FOREGROUND in present
    kept = [each for each in present if each not in (ORPHAN, FOREGROUND)]
    return kept + [ORPHAN] * orphan + [FOREGROUND] * foreground


def grace_seconds(kind: ResourceType, body: Object, options: DeleteOptions) -> int:
    """Only a pod that has a node and still runs is given time."""
    spec, status = body.get("spec") or {}, body.get("status") or {}
    if kind.resource.plural != "pods" or not spec.get("nodeName") or status.get("phase") in ("Failed", "Succeeded"):
        return 0
    wanted = options.grace_period_seconds
    if wanted is None:
        wanted = int(spec.get("terminationGracePeriodSeconds", 30))
    return max(wanted, 0)
