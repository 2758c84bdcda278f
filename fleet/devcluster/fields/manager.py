"""Who writes: the identity under which the server records the fields of a write."""

from __future__ import annotations

from typing import Final

import msgspec

UPDATE: Final = "Update"
APPLY: Final = "Apply"


class Manager(msgspec.Struct, frozen=True):
    """One writer of one request.

    operation: Update for everything but apply. subresource: "" for the object itself. api_version: in which the
    request was written. timestamp: RFC 3339, whole seconds. The last two are "" until the server fills them in.
    """

    name: str
    operation: str = UPDATE
    subresource: str = ""
    api_version: str = ""
    timestamp: str = ""


UNKNOWN: Final = Manager("unknown")
"""A writer that says no name."""
