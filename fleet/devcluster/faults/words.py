"""The vocabulary: every fault that tests, simulation and chaos can name. docs/faults.md shows what a client sees.

The words are those of the bug reports that are replayed with them: STALE, HIDE, LOSTACK, SILENT, CUT, SLICE, NOBMK and
so on. A fault is data: `documents` reads it from JSON or YAML, `injector` carries it out.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import msgspec

from fleet.devcluster.faults.match import LARGEST, Events, Match
from shards.errors import ConfigError


class Fault(msgspec.Struct, frozen=True, kw_only=True, tag_field="fault", forbid_unknown_fields=True):
    """What all faults have in common: whom they strike and how often. Raises ConfigError.

    times: how often at most; None without limit. A connection, a request or an event is one time, whichever the word is
    about. probability: of each time, from 0 to 1. from_seconds, until_seconds: since the injection; None = for good.
    """

    match: Match = Match()
    times: int | None = None
    probability: float = 1.0
    from_seconds: float = 0.0
    until_seconds: float | None = None

    positive: ClassVar[tuple[str, ...]] = ()
    """Fields that must not be negative."""

    def __post_init__(self) -> None:
        if self.times is not None and self.times < 0:
            raise ConfigError("times", f"{self.times} is negative; leave it out for no limit")
        if not 0.0 <= self.probability <= 1.0:
            raise ConfigError("probability", f"{self.probability} is out of bounds; write 0 to 1")
        if not 0.0 <= self.from_seconds < math.inf:
            raise ConfigError("from_seconds", f"{self.from_seconds} is no time; write seconds, at least 0")
        if self.until_seconds is not None and not self.from_seconds < self.until_seconds < math.inf:
            raise ConfigError("until_seconds", f"{self.until_seconds} is not after from_seconds")
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name in self.positive and value is not None and not 0 <= value < math.inf:
                raise ConfigError(name, f"{value} is out of bounds; write a number of at least 0")
            if isinstance(value, int) and value > LARGEST:
                raise ConfigError(name, f"it is too large; write at most {LARGEST}")


# ---------------------------------------------------------------------- events of watches


class DelayEvents(Fault, frozen=True, kw_only=True, tag="delay_events"):
    """Every event, bookmarks included, comes `seconds` late, in order; None holds all of them until the release."""

    seconds: float | None = None
    positive = ("seconds",)


class HideEvents(Fault, frozen=True, kw_only=True, tag="hide"):
    """The client never sees these events; later ones come. A new watch shows them again unless it is matched too."""

    events: Events = Events()


class DropEvents(Fault, frozen=True, kw_only=True, tag="drop"):
    """The watch cache of a replica lost these events: no watch shows them any more, those opened later neither, even
    after `times` is used up. Kubernetes issue 123072."""

    events: Events = Events()


class NoBookmarks(Fault, frozen=True, kw_only=True, tag="no_bookmarks"):
    """No bookmark arrives. initial_events_end: keep the one that ends the initial events."""

    initial_events_end: bool = False


class ExpireWatch(Fault, frozen=True, kw_only=True, tag="expire"):
    """Watches end with an ERROR event 410 in their 200 stream, open ones at once and new ones as they begin."""


class SlowReader(Fault, frozen=True, kw_only=True, tag="slow_reader"):
    """The client takes what is ready only every `seconds`, until the server ends its watch for its lag."""

    seconds: float
    positive = ("seconds",)


# ---------------------------------------------------------------------- connections


class Cut(Fault, frozen=True, kw_only=True, tag="cut"):
    """The connection breaks after so many bytes of a body or of a stream; of an open stream: from the injection on.

    fraction: of the body instead, from 0 to 1; strikes no streams. inside_character: at the next byte that is in the
    middle of a UTF-8 character. clean: the stream ends as if it were complete.
    """

    after_bytes: int = 0
    fraction: float | None = None
    inside_character: bool = False
    clean: bool = False
    positive = ("after_bytes",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fraction is not None and not 0.0 <= self.fraction <= 1.0:
            raise ConfigError("fraction", f"{self.fraction} is out of bounds; write 0 to 1")
        if self.fraction is not None and self.after_bytes:
            raise ConfigError("fraction", "a cut is after_bytes or at a fraction; write one of the two")


class Slice(Fault, frozen=True, kw_only=True, tag="slice"):
    """Bodies and streams arrive in chunks of so many bytes, wherever that falls."""

    piece_bytes: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.piece_bytes < 1:
            raise ConfigError("piece_bytes", f"{self.piece_bytes} is out of bounds; write at least 1")


class Silence(Fault, frozen=True, kw_only=True, tag="silence"):
    """Connections stay open and say nothing: no request is carried out, no event arrives. A release lets go of both."""


class Partition(Fault, frozen=True, kw_only=True, tag="partition"):
    """One way of the connection is silent.

    way: "to_server": requests do not arrive, open watches go on; "to_client": requests are carried out, neither their
    answers nor events arrive.
    """

    way: Literal["to_server", "to_client"]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.way not in ("to_server", "to_client"):
            raise ConfigError("way", f"{self.way!r} is not allowed; write to_server or to_client")


class Unreachable(Fault, frozen=True, kw_only=True, tag="unreachable"):
    """Connections are refused: the client knows that nothing was carried out. Open watches go on.

    A door does not know who connects. Where the fault is for some only, it resets their connections instead, and such a
    client cannot know.
    """

    @property
    def strikes_all(self) -> bool:
        """Whether nobody gets a connection."""
        return self.match == Match() and self.times is None and self.probability == 1.0


class Reset(Fault, frozen=True, kw_only=True, tag="reset"):
    """The connection is reset before the request is carried out, which the client cannot know."""


# ---------------------------------------------------------------------- requests and answers


class DelayAnswers(Fault, frozen=True, kw_only=True, tag="delay_answers"):
    """Requests are carried out at once; their answers come `seconds` late."""

    seconds: float
    positive = ("seconds",)


class LostAck(Fault, frozen=True, kw_only=True, tag="lost_ack"):
    """The request is carried out; its answer never arrives, the connection breaks instead."""


class LateLanding(Fault, frozen=True, kw_only=True, tag="late_landing"):
    """The client sees a broken connection now; the request is carried out `seconds` later."""

    seconds: float
    positive = ("seconds",)


class Refuse(Fault, frozen=True, kw_only=True, tag="refuse"):
    """Answers a failure status: 409, 410, 429, 5xx and so on.

    retry_after_seconds: header Retry-After and the details of the Status; None without. carried_out: the request takes
    effect before it is refused. text: a plain-text body instead of a Status, as of a load balancer. message: of the
    Status.
    """

    status: int
    retry_after_seconds: int | None = None
    carried_out: bool = False
    text: str = ""
    message: str = ""
    positive = ("retry_after_seconds",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 400 <= self.status <= 599:
            raise ConfigError("status", f"{self.status} is no failure; write 400 to 599")


class TooLarge(Fault, frozen=True, kw_only=True, tag="too_large"):
    """Reads that name a resourceVersion are answered 504: this server is behind. cause: as newer servers say it in the
    details; False: as older ones, in the message only. Kubernetes issue 107133."""

    cause: bool = True


class TruncateList(Fault, frozen=True, kw_only=True, tag="truncate_list"):
    """A list ends after `keep` items as if it were complete: valid JSON, no continue token."""

    keep: int = 0
    positive = ("keep",)


class StaleReplica(Fault, frozen=True, kw_only=True, tag="stale_replica"):
    """Requests are served by another front end, which may be behind.

    replica: its name; left out, an embedded server makes one. lag_seconds: everything arrives there so much later.
    frozen: nothing arrives there. Both hold for whoever asks that front end, and end with the fault.
    """

    replica: str = ""
    lag_seconds: float = 0.0
    frozen: bool = False
    positive = ("lag_seconds",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.replica and not self.stale:
            raise ConfigError("replica", "name a front end, or write lag_seconds or frozen to have one made")
        if self.frozen and self.lag_seconds > 0:
            raise ConfigError("lag_seconds", "a frozen front end has no lag; write one of the two")

    @property
    def stale(self) -> bool:
        """Whether the fault itself makes the front end stale."""
        return self.frozen or self.lag_seconds > 0


class ClockSkew(Fault, frozen=True, kw_only=True, tag="clock"):
    """The clocks of matching members run at `rate` and are `offset_seconds` ahead. Only `match.member` counts; strikes
    those who read time through `Faults.clock`."""

    rate: float = 1.0
    offset_seconds: float = 0.0
    positive = ("rate",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not math.isfinite(self.offset_seconds):
            raise ConfigError("offset_seconds", f"{self.offset_seconds} is no time; write seconds")
        if self.times is not None or self.probability < 1.0:
            field = "probability" if self.times is None else "times"
            raise ConfigError(field, "a clock runs wrong all the time; leave it out")
        if self.match != Match(member=self.match.member):
            raise ConfigError("match", "clocks are those of members; write match.member and nothing else")


Word = (
    DelayEvents
    | HideEvents
    | DropEvents
    | NoBookmarks
    | ExpireWatch
    | SlowReader
    | Cut
    | Slice
    | Silence
    | Partition
    | Unreachable
    | Reset
    | DelayAnswers
    | LostAck
    | LateLanding
    | Refuse
    | TooLarge
    | TruncateList
    | StaleReplica
    | ClockSkew
)
