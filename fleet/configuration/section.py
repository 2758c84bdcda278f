"""What every section of the config file is."""

from __future__ import annotations

import msgspec


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A mapping in the file. Frozen: a config is replaced, never edited."""
