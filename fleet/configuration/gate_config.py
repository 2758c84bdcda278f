"""`gate` in the config file: how stale caches are held back, and what pauses destructive acts."""

from __future__ import annotations

from fleet.configuration.section import Section
from shards.settings import BreakerSettings, GateSettings


class BreakerConfig(Section, frozen=True):
    """`gate.breaker`: when destructive acts (deletions, scaling down, confirmed acts) are paused.

    Counted per controller and worker, not per fleet: ten workers may do ten times as much within a window."""

    destructive_limit: int = 100
    """Destructive acts within a window, at least 1. Default 100: a controller that wants more at once has usually
    misread the world; one that cleans up by the thousand needs a higher limit."""
    window_seconds: float = 60.0
    """Length of that window in seconds, above 0. Default 60: long enough for a person to notice, short enough for an
    ordinary clean-up to go on by itself."""
    failures_to_open: int = 3
    """Live reads in a row that the server could not answer before acts are paused, at least 1. Default 3: one may be a
    lost packet; three are a server that cannot be asked."""
    open_seconds: float = 10.0
    """Seconds of pause before one act is let through to probe, above 0, at most windowSeconds: a longer pause would
    forget why it began. Default 10: a server that restarts needs about as long."""

    def settings(self) -> BreakerSettings:
        return BreakerSettings(self.destructive_limit, self.window_seconds, self.failures_to_open, self.open_seconds)


class GateConfig(Section, frozen=True):
    """`gate`: how stale caches are held back. Running workers follow this section when the file changes."""

    live_read_after_seconds: float = 2.0
    """Seconds for which a view may lag behind an own write or a watermark before a live read settles it, above 0.
    Default 2: watches usually answer within 50 milliseconds, so that 2 seconds mean trouble."""
    live_reads_per_second: float = 5.0
    """Budget of live reads per controller and worker, above 0. Default 5: a broken watch must not turn into a
    request per key."""
    status_stale_window_seconds: float = 150.0
    """Seconds: how old a view may be on which a status is still written while destructive acts are paused, at least
    liveReadAfterSeconds. Default 150: a quiet view is confirmed every 60 seconds, a silent watch is found after 75 and
    the next one confirms within 60, so that older means trouble. Beyond it, statuses wait."""
    breaker: BreakerConfig = BreakerConfig()

    def settings(self, *, enabled: bool) -> GateSettings:
        """enabled: the feature gate VersionGate."""
        return GateSettings(
            enabled=enabled,
            live_read_after_seconds=self.live_read_after_seconds,
            live_reads_per_second=self.live_reads_per_second,
            status_stale_window_seconds=self.status_stale_window_seconds,
            breaker=self.breaker.settings(),
        )
