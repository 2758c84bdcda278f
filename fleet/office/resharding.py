"""Which layout comes next, and why: the config's, single cuts that people ask for, and those that the planner proposes.

One reshard at a time, and each is one write of the map; `fleet.rules.reshard` then carries it through, whoever is in
office (R7 to R9).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from fleet.office.config_follower import ConfigFollower
from fleet.records.record import ShardMap
from fleet.rules.cuts import Cut, cut_boundaries, cut_of, refusal
from fleet.rules.layout import is_older, is_settled, namespace_points, next_layout, relaid
from fleet.rules.look import Look

log = logging.getLogger(__name__)


class Resharding:
    """Remembers nothing: all of it is in the map."""

    def __init__(self, config: ConfigFollower) -> None:
        self.config = config

    def next_map(self, look: Look, cuts: Sequence[Cut] = ()) -> ShardMap | None:
        """The map to be written instead of any other, None when the layout stays. cuts: of the planner."""
        if look.controls.frozen is not None:
            return None
        new = self._as_configured(look) or self._as_requested(look) or self._as_cut(look, cuts)
        if new is None:
            return None
        before, after = set(look.map.ranges), set(new.ranges)
        if before != after:
            log.info(
                "reshard: %d ranges leave the layout, %d are new, %d stay",
                len(before - after),
                len(after - before),
                len(before & after),
            )
        return new

    def _as_configured(self, look: Look) -> ShardMap | None:
        refused, wanted = self.config.refused, self.config.wanted
        if refused:
            return replace(look.map, config_refused=refused) if look.map.config_refused != refused else None
        if wanted is None:
            return replace(look.map, config_refused="") if look.map.config_refused else None
        if is_older(wanted.version, look.map.config_version):
            return None
        return next_layout(look.map, wanted, look.shards, namespace_points(look.members.values()))

    def _as_requested(self, look: Look) -> ShardMap | None:
        """All requests that are not done, in one reshard. One that cannot be done is done with: a layout changes."""
        new = [each for each in look.controls.requests if each.number > look.map.requests_done]
        if not new or not is_settled(look.map, look.shards):
            return None
        cuts, boundaries, key = [], look.map.boundaries, look.map.partition_key
        for each in sorted(new, key=lambda request: request.number):
            why = refusal(each, boundaries, key)
            if why:
                log.warning("reshard: request %d is refused: %s", each.number, why)
            else:
                boundaries = cut_boundaries(boundaries, [cut_of(each)], key)
                cuts.append(each)
                log.info("reshard: request %d, %s", each.number, cut_of(each))
        found = relaid(look.map, boundaries, key, look.shards) if cuts else look.map
        return replace(found, requests_done=max(each.number for each in new))

    def _as_cut(self, look: Look, cuts: Sequence[Cut]) -> ShardMap | None:
        boundaries = cut_boundaries(look.map.boundaries, cuts, look.map.partition_key)
        if boundaries == look.map.boundaries or not is_settled(look.map, look.shards):
            return None
        for cut in cuts:
            log.info("plan: %s", cut)
        new = relaid(look.map, boundaries, look.map.partition_key, look.shards)
        return replace(new, moved_at=int(look.today))
