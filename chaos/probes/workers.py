"""What worker processes did that were harmed, and how often they ended."""

from __future__ import annotations

from collections import Counter

from chaos.targets import quarantine
from chaos.targets.own_pods import Halt, own_pods
from chaos.targets.ownership import late_writes, takeover_seconds
from chaos.targets.running import RUNNING
from chaos.targets.target import End, Target
from fleet.devcluster.evidence.verdict import Verdict
from shards.api.useragent import UserAgent


def late_writes_of_paused(target: Target = RUNNING) -> int:
    """Writes that the server accepted from incarnations that had been paused, more than a lease after the pause
    began: by then their ranges may be another's."""
    verdict, entries = target.evidence.verdict(), target.evidence.entries()
    count = 0
    for halt in own_pods(target).halts:
        holders = _holders(verdict, halt)
        for entry in entries:
            if not (entry.write and entry.succeeded and entry.time > halt.at + target.lease_seconds):
                continue
            agent = UserAgent.parse(entry.user_agent)
            count += agent is not None and f"{agent.member}@{agent.epoch}" in holders
    return count


def outlived_pauses(target: Target = RUNNING) -> int:
    """Workers that were paused for more than a lease, and went on."""
    halts = own_pods(target).halts
    return sum(each.went_on_at is not None and each.went_on_at > each.at + target.lease_seconds for each in halts)


def restarts(worker: str = "", target: Target = RUNNING) -> int:
    """How often worker processes began again, by their journals. worker: left out, all of them."""
    begun = Counter(note.member for note in target.evidence.notes() if note.what == "begin")
    return sum(count - 1 for member, count in begun.items() if worker in ("", member))


def quarantined_keys(target: Target = RUNNING) -> int:
    """Keys with three deaths: no worker reconciles them any more."""
    return quarantine.quarantined_keys(target)


def longest_halt_takeover_seconds(target: Target = RUNNING) -> float:
    """Over all workers that were paused, and all ranges that they held: until the range was claimed again; 0 before
    the first of them."""
    verdict, now = target.evidence.verdict(), target.now()
    ends = [End(halt.pod, halt.child, halt.member, halt.pid, halt.at) for halt in own_pods(target).halts]
    return max((max(takeover_seconds(verdict, end, now).values(), default=0.0) for end in ends), default=0.0)


def longest_overlap_seconds(target: Target = RUNNING) -> float:
    """For how long after a range was claimed by somebody else its last owner's writes for it were still accepted, at
    most. 0 where nobody wrote late."""
    return max(late_writes(target.evidence.verdict(), target.evidence.entries()), default=0.0)


def _holders(verdict: Verdict, halt: Halt) -> set[str]:
    """What that incarnation calls itself: it held ranges when it was paused."""
    return {
        span.holder
        for spans in verdict.timeline.values()
        for span in spans
        if span.holder.startswith(f"{halt.member}@")
        and span.claimed_at <= halt.at
        and (span.ended_at is None or span.ended_at >= halt.at)
    }
