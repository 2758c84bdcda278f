"""Rules of the product, each of which can be taken out of it. See docs/removed-rules.md."""

from __future__ import annotations

from collections.abc import Mapping

from chaos.simulation.removals import governing, joining, owning, reconciling
from chaos.simulation.removals.removal import Removal

REMOVALS: Mapping[str, Removal] = {
    each.name: each for each in (*joining.REMOVALS, *owning.REMOVALS, *governing.REMOVALS, *reconciling.REMOVALS)
}
"""By name."""
