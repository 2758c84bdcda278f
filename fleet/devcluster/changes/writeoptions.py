"""Who a write is attributed to, and whether its options make sense. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from fleet.devcluster.causes import Cause
from fleet.devcluster.fields.manager import APPLY, UPDATE, Manager
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.gonumbers import go_quoted
from fleet.devcluster.wire.requests import MANAGER_LIMIT, Request

_KINDS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}


def manager_of(request: Request, subresource: str = "", *, apply: bool = False) -> Manager:
    """The manager of a write. Raises StatusError 422."""
    if apply or request.query:
        found = list(_causes(request, apply=apply))
        if found:
            raise statuses.invalid_options(_KINDS.get(request.method, "PatchOptions"), found)
    return Manager(request.field_manager, APPLY if apply else UPDATE, subresource)


def _causes(request: Request, *, apply: bool) -> Iterator[Cause]:
    name = request.option("fieldManager")
    if apply and not name:
        yield Cause("FieldValueRequired", "Required value: is required for apply patch", "fieldManager")
    if request.method == "PATCH" and not apply and request.has("force"):
        yield Cause("FieldValueForbidden", "Forbidden: may not be specified for non-apply patch", "force")
    if len(name.encode()) > MANAGER_LIMIT:
        message = f"Too long: may not be more than {MANAGER_LIMIT} bytes"
        yield Cause("FieldValueTooLong", message, "fieldManager")
    position = 0
    for character in name:
        if not character.isprintable():
            why = f"invalid character U+{ord(character):04X} (at position {position})"
            yield Cause("FieldValueInvalid", f"Invalid value: {go_quoted(name)}: {why}", "fieldManager")
        position += len(character.encode())
    yield from request.dry_run_causes()
    yield from request.validation_causes()
