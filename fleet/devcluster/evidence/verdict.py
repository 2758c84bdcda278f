"""What the judge found in a journal."""

from __future__ import annotations

import msgspec


class Finding(msgspec.Struct, frozen=True):
    """One broken promise. rule: name of the Verdict field that counted it. seq, time: of the journal's entry."""

    rule: str
    seq: int
    time: float
    what: str


class OwnershipSpan(msgspec.Struct):
    """One ownership of one range, from claim to end.

    holder: `<member>@<member epoch>`. Times are the journal's. ended_by: "release", "takeover" (claimed over),
    "retire" (the holder vanished in another write), "deletion", "lost" (in entries that the journal lost), or "" while
    it lasts. over: the holder that a takeover replaced, else "". fleet: "namespace/name".
    """

    range: str
    holder: str
    epoch: int
    claimed_seq: int
    claimed_at: float
    over: str = ""
    ended_seq: int = 0
    ended_at: float | None = None
    ended_by: str = ""
    fleet: str = ""


class Gap(msgspec.Struct, frozen=True):
    """A range without a live owner. cause: "release", "death" (its member was fenced, left or began anew), "activation"
    or "deletion". ended_at None: nobody has claimed it yet. fleet: "namespace/name"."""

    range: str
    cause: str
    began_at: float
    ended_at: float | None
    fleet: str = ""

    @property
    def seconds(self) -> float | None:
        return None if self.ended_at is None else self.ended_at - self.began_at


HELD, BROKEN, NOT_JUDGED = "held", "broken", "not judged"


class Judgement(msgspec.Struct, frozen=True):
    """What a journal says about one invariant.

    outcome: HELD, BROKEN or NOT_JUDGED. checks: how often it was tested; what: what these are. why: of NOT_JUDGED.
    broken: how often; findings: the first of these.
    """

    id: str
    sentence: str
    outcome: str
    checks: int = 0
    what: str = "checks"
    why: str = ""
    broken: int = 0
    findings: list[Finding] = msgspec.field(default_factory=list)

    def __str__(self) -> str:
        if self.outcome == NOT_JUDGED:
            return f"not judged: {self.why}"
        counted = f"{self.checks} {self.what}"
        return f"held: {counted}" if self.outcome == HELD else f"BROKEN {self.broken} times: {counted}"


class Verdict(msgspec.Struct):
    """Counts and findings over a journal; see `judge.judge` for what exactly each one counts.

    Promises are kept when `clean`: the counts of broken ones are all zero. missing: entries that the journal lost; the
    verdict is partial then. invariants: I1 to I27, as far as the journals say.
    """

    entries: int = 0
    fleet_writes: int = 0
    event_writes: int = 0
    children: int = 0
    child_posts: int = 0
    duplicate_child_posts: int = 0
    status_writes: int = 0
    duplicate_status_writes: int = 0
    takeovers: int = 0
    overlap_violations: int = 0
    writes_after_release: int = 0
    unattributed_writes: int = 0
    member_lease_writes: int = 0
    map_writes: int = 0
    lease_writes_per_range: dict[str, int] = msgspec.field(default_factory=dict)
    timeline: dict[str, list[OwnershipSpan]] = msgspec.field(default_factory=dict)
    gaps: list[Gap] = msgspec.field(default_factory=list)
    findings: list[Finding] = msgspec.field(default_factory=list)
    missing: int = 0
    invariants: list[Judgement] = msgspec.field(default_factory=list)

    @property
    def partial(self) -> bool:
        return self.missing > 0

    @property
    def broken_invariants(self) -> list[Judgement]:
        return [each for each in self.invariants if each.outcome == BROKEN]

    @property
    def clean(self) -> bool:
        return not (
            self.duplicate_child_posts
            or self.duplicate_status_writes
            or self.overlap_violations
            or self.writes_after_release
            or self.unattributed_writes
        )

    def encode(self) -> bytes:
        """JSON, with `clean` and `partial` among the fields."""
        fields = msgspec.to_builtins(self)
        return msgspec.json.encode({"clean": self.clean, "partial": self.partial, **fields})
