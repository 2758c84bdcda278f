"""What those who use the operator do, and waiting for it to be done."""

from __future__ import annotations

from typing import Any

from chaos.targets.ownership import owned_share
from chaos.targets.running import RUNNING
from chaos.targets.target import Target, TargetFailed

LOOK_SECONDS = 0.1


def add_objects(count: int, target: Target = RUNNING) -> dict[str, Any]:
    """Makes that many more primary objects, for the workers to be busy with. Does not wait for the fleet."""
    target.people.add(count)
    return {"added": count}


def remove_objects(count: int, target: Target = RUNNING) -> dict[str, Any]:
    """So many of the oldest primary objects go. Raises TargetFailed where there are fewer."""
    removed = target.people.remove(count)
    if len(removed) < count:
        raise TargetFailed(f"there were {len(removed)} objects to remove, which is less than {count}")
    return {"removed": len(removed)}


def change_objects(per_second: float, target: Target = RUNNING) -> dict[str, Any]:
    """One object after the other from now on, beside what goes on; 0 ends it."""
    target.people.keep_changing(per_second)
    return {"per_second": per_second}


def wait_until_settled(timeout_seconds: float, target: Target = RUNNING) -> dict[str, Any]:
    """Nobody changes anything any more; until every key has a living owner and the controller is done with every
    object, or the time is over: what is missing then is for the hypothesis to judge."""
    target.people.keep_changing(0.0)
    began = target.now()
    while True:
        # Ranges first: an object that was done while its range had no owner may be undone by the next one.
        share = owned_share(target.evidence.verdict(), target.pods.ends)
        unsettled = target.people.unsettled()
        seconds = target.now() - began
        if (share == 1.0 and not unsettled) or seconds >= timeout_seconds:
            return {"owned_share": share, "unsettled": unsettled, "seconds": round(seconds, 3)}
        target.sleep(LOOK_SECONDS)


def wait(seconds: float, target: Target = RUNNING) -> dict[str, Any]:
    """So long, in which what was done before goes on."""
    target.sleep(seconds)
    return {"seconds": seconds}
