"""What all sections of the config file have in common."""

from __future__ import annotations

import msgspec


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A mapping in the file. Frozen: a config is replaced, never edited."""
