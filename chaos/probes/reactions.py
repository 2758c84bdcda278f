"""How soon the fleet acts on what people change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from chaos.targets.reactions import Reactions, percentile
from chaos.targets.running import RUNNING
from chaos.targets.target import Target
from shards.journal import Note


def reaction_p99_seconds(target: Target = RUNNING) -> float:
    """From a change of a primary object to the end of the reconcile that took it in: 99 of 100 take no longer. By the
    recording and the workers' journals; a change that nobody has answered yet does not count."""
    return percentile((seconds for _, seconds in _reactions(target)), 0.99)


def worst_reaction_p99_seconds(window_seconds: float = 60.0, target: Target = RUNNING) -> float:
    """The same for the changes of each minute, or of each window of another length; the worst of them."""
    windows: dict[int, list[float]] = defaultdict(list)
    for at, seconds in _reactions(target):
        windows[int(at // window_seconds)].append(seconds)
    return max((percentile(found, 0.99) for found in windows.values()), default=0.0)


def _reactions(target: Target) -> Iterator[tuple[float, float]]:
    """Time of each change since the fleet was settled first that was answered, and seconds that it took."""
    reactions = Reactions(target.people.resource)
    for line in target.evidence.lines():
        if isinstance(line, Note):
            yield from (found for found in reactions.note(line) if found[0] >= target.settled_at)
        else:
            reactions.hear(line)
