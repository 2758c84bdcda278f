"""The feature gates of one worker: asked wherever a feature makes a difference, and changed while it runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from shards.clock import Clock
from shards.features import Feature, Rollout
from shards.keyrange import KeyRange


class WorkerGates:
    """Answers for the member that the worker is. labels: of that member.

    since: boot-clock reading of the last change, or of the start: what is measured of a step of a rollout begins here.
    """

    def __init__(self, rollout: Rollout, labels: Mapping[str, str], clock: Clock) -> None:
        self.rollout = rollout
        self.labels = dict(labels)
        self.since = clock()
        self._clock = clock
        self._told: list[Callable[[], None]] = []

    def version_gate(self, controller: str, shard: KeyRange) -> bool:
        """Whether the controller's decisions in that shard wait for fresh views."""
        return self.rollout.has(Feature.VERSION_GATE, controller, shard, self.labels)

    def has_for_all(self, feature: Feature, controllers: Iterable[str], shard: KeyRange) -> bool:
        """Whether a view that these controllers share may have the feature."""
        return self.rollout.has_for_all(feature, controllers, shard, self.labels)

    def on(self, controller: str, shard: KeyRange) -> tuple[Feature, ...]:
        """All features that are on there, in the order of `Feature`."""
        return tuple(each for each in Feature if self.rollout.has(each, controller, shard, self.labels))

    def change(self, rollout: Rollout) -> None:
        """From now on. Those who asked to be told are, once the answers are the new ones."""
        if rollout == self.rollout:
            return
        self.rollout = rollout
        self.since = self._clock()
        for told in tuple(self._told):
            told()

    def tell(self, told: Callable[[], None]) -> Callable[[], None]:
        """`told` is called after each change. Returns what ends that; idempotent."""
        self._told.append(told)

        def end() -> None:
            if told in self._told:
                self._told.remove(told)

        return end
