"""Rules of the product, each of which can be taken out of it. See docs/removed-rules.md."""

from __future__ import annotations

from collections.abc import Mapping

from chaos.simulation.removals.removal import Removal

REMOVALS: Mapping[str, Removal] = {}
"""By name."""
