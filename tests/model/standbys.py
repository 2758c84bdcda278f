"""Whether anybody stands by for a range, and means it."""

from __future__ import annotations

from fleet.rules.handover import Action, Phase
from tests.model.state import Lease, Process, State, World


def somebody_is_synced(w: World, s: State, target: int, bit: int) -> bool:
    return any(
        w.names[q] == target and x.synced & bit and x.believes and x.epoch > 0 for q, x in enumerate(s.processes)
    )


def stands_alone(w: World, s: State, target: int, r: int) -> bool:
    """Whether the target, whom the map in force still names, has no standby, and does not merely withdraw too late."""
    if s.map is None or w.target(s.map, r) != target:
        return False
    return not somebody_is_synced(w, s, target, 1 << r) and not will_withdraw(w, s, target, r)


def will_withdraw(w: World, s: State, target: int, r: int) -> bool:
    """Whether the target is about to take its announcement back: the owner was merely faster."""
    lease = s.leases[r]
    if w.code is not None:
        asked = [
            w.code.decide(Phase.STANDBY if x.synced >> r & 1 else Phase.IDLE, r, (target, x.epoch), x.view, lease)
            for q, x in enumerate(s.processes)
            if w.names[q] == target and x.epoch > 0 and x.believes
        ]
        return Action.WITHDRAW in asked
    return not {"no-withdrawal", "announce-before-synced"} & w.without and any(
        has_nothing_behind(w, x, q, lease, r) for q, x in enumerate(s.processes) if w.names[q] == target
    )


def has_nothing_behind(w: World, me: Process, p: int, lease: Lease, r: int) -> bool:
    standby = lease.standby
    if standby is None or standby[0] != w.names[p] or me.epoch <= 0 or not me.believes:
        return False
    return not me.synced >> r & 1 or standby[1] < me.epoch
