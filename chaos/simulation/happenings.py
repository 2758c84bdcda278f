"""What an oracle hears of a simulated fleet, in the order in which it happens. Times are true ones.

process: name and count of starts, `a/2`; "hand" for what people do, "network" is nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from chaos.simulation.strikes import AnyStrike
from fleet.backends.record_cache import Record
from fleet.health.range_steps import RangeStep
from fleet.records.object_names import Kind
from fleet.records.record import CoordinatorRecord, Holder
from shards.keyrange import KeyRange


class Written(NamedTuple):
    """The store accepted a write. before None: created. after None: deleted. sent_at: by its sender."""

    at: float
    process: str
    kind: Kind
    name: str
    before: Record | CoordinatorRecord | None
    after: Record | CoordinatorRecord | None
    sent_at: float


class Restored(NamedTuple):
    """The store went back."""

    at: float


class Opened(NamedTuple):
    """A process begins to act on a range. deadline: the true time until which it may, as of the call; it moves with
    its renewals, and is minus infinity once the tenure has ended."""

    at: float
    process: str
    holder: Holder
    range: KeyRange
    epoch: int
    deadline: Callable[[], float]


class Closed(NamedTuple):
    """It has ended: no act of that tenure is begun any more."""

    at: float
    process: str
    range: KeyRange
    epoch: int


class Acted(NamedTuple):
    """The server accepted a write on an object of the range. key: its hash. based_on: version of the object that the
    decision was made on; version: of the object now. sent_at: true time at which it was handed to the wire."""

    at: float
    process: str
    holder: Holder
    range: KeyRange
    epoch: int
    key: int
    based_on: int
    version: int
    sent_at: float
    late: bool = False
    """Its sender had seen a broken connection before, or something held it on the wire."""


class Read(NamedTuple):
    """The server answered a live read of one record. version: that it showed, "" for none."""

    at: float
    process: str
    kind: Kind
    name: str
    version: str


class Changed(NamedTuple):
    """Somebody else made or changed an object: its owner is to act on it."""

    at: float
    key: int
    version: int


class Stepped(NamedTuple):
    """A worker told its observers of a step of a range."""

    at: float
    process: str
    step: RangeStep


class Lived(NamedTuple):
    """Something happened to a process. died: it ended itself (a deadline, a refusal)."""

    at: float
    process: str
    how: Literal["started", "crashed", "paused", "resumed", "leaving", "left", "died"]


class Struck(NamedTuple):
    """A strike begins, or ends."""

    at: float
    strike: AnyStrike
    over: bool = False


class Healed(NamedTuple):
    """Nothing goes wrong from here on."""

    at: float


Happening = Written | Restored | Opened | Closed | Acted | Read | Changed | Stepped | Lived | Struck | Healed
