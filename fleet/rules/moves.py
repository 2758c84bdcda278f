"""What a plan says: the target of every range, which of them change, and why no others do."""

from __future__ import annotations

from dataclasses import dataclass

from shards.keyrange import KeyRange


@dataclass(frozen=True, slots=True)
class Move:
    """One range changes its target; "" = nobody. why: a sentence's end. by_choice: it could have stayed."""

    range: KeyRange
    source: str
    target: str
    why: str
    by_choice: bool = False

    def __str__(self) -> str:
        origin = f" from {self.source}" if self.source else ""
        return f"{self.range.short} goes{origin} to {self.target}, because {self.why}"


@dataclass(frozen=True, slots=True)
class Plan:
    """targets: member per range, "" = nobody. moves: what differs from today. still: why nothing else would gain, in
    one sentence; "" where more moves by choice are to follow."""

    targets: tuple[str, ...]
    moves: tuple[Move, ...] = ()
    still: str = ""
