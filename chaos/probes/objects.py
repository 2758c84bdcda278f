"""The objects of those who use the operator."""

from __future__ import annotations

from chaos.targets.running import RUNNING
from chaos.targets.target import Target
from fleet.devcluster.recording.journal import EVENT
from shards.api.useragent import UserAgent

FLEET = "fleet/"
LOOK_SECONDS = 0.2


def unsettled_objects(target: Target = RUNNING, within_seconds: float = 0.0) -> int:
    """Primary objects with which the controller is not done; those that should exist and do not count too.

    within_seconds: looks again that long, until there are none: what people change meanwhile is soon done, and what is
    never done is lost. The fewest that were seen.
    """
    give_up_at = target.now() + within_seconds
    fewest = target.people.unsettled()
    while fewest and target.now() < give_up_at:
        target.sleep(LOOK_SECONDS)
        fewest = min(fewest, target.people.unsettled())
    return fewest


def changes(target: Target = RUNNING) -> int:
    """How often people have changed an object so far."""
    return target.people.changes


def writes_out_of_scope(target: Target = RUNNING, grace_seconds: float = 1.0) -> int:
    """Writes by the fleet for primary objects that were none of its own at that time, to them or their children: a
    watch had told it that they left what it selects, though they were there still, and none that they are back.

    grace_seconds: after it was told, for what was under way.
    """
    resource = str(target.people.resource)
    left: dict[str, float] = {}
    deleted: set[str] = set()
    found = 0
    for each in target.evidence.entries():
        agent = UserAgent.parse(each.user_agent) if each.write else None
        if agent is not None and agent.uid in left:
            found += each.time > left[agent.uid] + grace_seconds
        if each.resource != resource or not each.uid:
            continue
        if each.verb == EVENT and each.shown is not None and each.user_agent.startswith(FLEET):
            if each.shown.type == "DELETED" and each.uid not in deleted:
                left.setdefault(each.uid, each.time)
            elif each.shown.type in ("ADDED", "MODIFIED"):
                left.pop(each.uid, None)
        elif each.removed:
            deleted.add(each.uid)
            left.pop(each.uid, None)
    return found
