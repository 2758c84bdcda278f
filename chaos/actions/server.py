"""What can be done to the API server, and to the way between it and the fleet."""

from __future__ import annotations

from typing import Any

from chaos.actions.processes import chosen
from chaos.targets.holds import SECOND
from chaos.targets.ownership import owned_ranges
from chaos.targets.running import RUNNING
from chaos.targets.target import Target, TargetFailed
from fleet.devcluster.recording.journal import READS, Entry

FLEET = "fleet/"
"""What the User-Agents of fleets begin with: what people send is let through."""
UNDER_WAY_SECONDS = 0.5
"""What was sent before an outage is recorded by then."""


def inject(fault: dict[str, Any], target: Target = RUNNING) -> dict[str, Any]:
    """Puts a fault (docs/faults.md) in force, for requests of the fleet where it says nothing else."""
    match = {"user_agent": FLEET} | fault.get("match", {})
    (number,) = target.server.inject(fault | {"match": match})
    return {"number": number, "fault": fault["fault"]}


def heal(target: Target = RUNNING) -> dict[str, Any]:
    """Ends all faults. Says how often each of them has met something."""
    struck = target.server.struck()
    target.server.heal()
    return {"struck": struck}


def inject_all(faults: list[dict[str, Any]], target: Target = RUNNING) -> dict[str, Any]:
    """Several at once, each as `inject` takes it."""
    return {"faults": [inject(each, target)["fault"] for each in faults]}


def end_faults(least: int = 1, target: Target = RUNNING) -> dict[str, Any]:
    """Ends all faults. Raises TargetFailed where one of those that were ever in force has met nothing, or less than
    `least` requests, connections or events: what the fleet did then would prove nothing."""
    struck = heal(target)["struck"]
    if idle := sorted(number for number, times in struck.items() if times < least):
        raise TargetFailed(f"fault {idle[0]} has struck {struck[idle[0]]} times, which is less than {least}")
    return {"struck": struck}


def refuse_connections(seconds: float, target: Target = RUNNING) -> dict[str, Any]:
    """For so long nobody gets a new connection, people neither; watches that are open go on."""
    since = target.now()
    # Whom a connection will be from, nobody knows before it is there: this fault is for all, and ends by itself, since
    # nobody could end it.
    target.server.inject({"fault": "unreachable", "until_seconds": seconds})
    target.sleep(seconds + UNDER_WAY_SECONDS)
    return {"seconds": seconds, "requests": _cut_off(target, since, seconds)}


def pause_server(seconds: float, target: Target = RUNNING) -> dict[str, Any]:
    """SIGSTOP to the API server for so long."""
    since = target.now()
    target.server.pause()
    try:
        target.sleep(seconds)
    finally:
        target.server.resume()
    return {"seconds": seconds, "requests": _cut_off(target, since, seconds)}


def break_watches(target: Target = RUNNING, worker: str = "") -> dict[str, Any]:
    """The connections of all watches of the fleet, or of one worker, break now; others can be opened at once."""
    match = {"user_agent": FLEET, "verbs": ["watch"]} | ({"member": worker} if worker else {})
    numbers = target.server.inject({"fault": "cut", "match": match})
    struck = target.server.struck()[numbers[0]]
    target.server.release(numbers)
    if not struck:
        raise TargetFailed("the fleet had no watch open that could be broken")
    return {"watches": struck}


def freeze_replica(target: Target = RUNNING) -> dict[str, Any]:
    """Another front end of the server, which nobody uses so far, stands still until everything is healed."""
    return {"replica": target.server.freeze_replica()}


def switch_to_replica(worker: str = "", verbs: list[str] | None = None, target: Target = RUNNING) -> dict[str, Any]:
    """What a worker asks goes to the second front end from now on, and its watches break, so that it has to ask there.

    worker: left out, the one that owns most. verbs: of requests that go there; left out, all of them. Raises
    TargetFailed where it owns nothing, or had no watch open.
    """
    member, _, _ = chosen(target, worker)
    ranges = owned_ranges(target.evidence.verdict(), target.pods.ends).get(member, 0)
    if not ranges:
        raise TargetFailed(f"{member} owns no range: what it believes would harm nobody")
    match = {"user_agent": FLEET, "member": member} | ({"verbs": verbs} if verbs else {})
    target.server.inject({"fault": "stale_replica", "replica": SECOND, "match": match})
    return {"worker": member, "ranges": ranges, **break_watches(target, member)}


def compact_history(target: Target = RUNNING) -> dict[str, Any]:
    """What the server stores is compacted, and its front end begins anew where only that makes it forget as well:
    nothing can be watched, or listed, from what was before."""
    began = target.now()
    target.server.compact()
    return {"seconds": round(target.now() - began, 3)}


def back_up(target: Target = RUNNING) -> dict[str, Any]:
    """Keeps what the server stores now."""
    target.server.back_up()
    return {}


def restore(target: Target = RUNNING) -> dict[str, Any]:
    """Puts back what was kept: objects, records and versions are those of then."""
    began = target.now()
    target.server.restore()
    return {"seconds": round(target.now() - began, 3)}


def expect_recorded(least: int, status: int = 0, event: str = "", target: Target = RUNNING) -> dict[str, Any]:
    """Whether it has come to what the experiment is about: so many answers with that status, or events of that type
    (ERROR, DELETED ...), were given to the fleet since it runs. Raises TargetFailed for less."""
    found = sum(
        each.user_agent.startswith(FLEET)
        and (each.status == status if status else each.shown is not None and each.shown.type == event)
        for each in target.evidence.entries()
    )
    if found < least:
        what = f"answers {status}" if status else f"events {event}"
        raise TargetFailed(f"the fleet was given {found} {what}, which is less than {least}")
    return {"found": found}


def _cut_off(target: Target, since: float, seconds: float) -> int:
    """How many requests of the fleet got through in an outage, those aside that were under way. Raises TargetFailed
    where the fleet did not ask before, or went on asking: then it was no outage to it."""
    asked = [each.time for each in target.evidence.entries() if each.user_agent.startswith(FLEET) and _request(each)]
    through = sum(since + UNDER_WAY_SECONDS < time < since + seconds for time in asked)
    if through or not any(since - target.lease_seconds < time <= since for time in asked):
        raise TargetFailed(f"{through} requests of the fleet got through in {seconds:g} seconds without a server")
    return through


def _request(entry: Entry) -> bool:
    return entry.verb in READS or entry.write
