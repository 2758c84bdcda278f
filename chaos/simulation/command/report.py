"""What a campaign came to: figures for programs, and lines for people."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from chaos.simulation.campaign.campaign import Campaign
from chaos.simulation.campaign.errand import Failure
from chaos.simulation.campaign.tally import Settled, Tally
from fleet import __version__


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """The one JSON object of --json.

    asked: seeds that were asked for, from first_seed on; null: as many as were begun within a time. seeds: histories
    that came to an end, well or not. seconds: of real time; cpu_seconds: of the processes that played, their start left
    out. simulated_seconds: that passed in the histories. checks: how often each oracle was asked. hits: how often each
    strike met something. settled: seconds from the healing until all was as it should be. interrupted: it was stopped
    by hand.
    """

    version: str
    depth: str
    broken_rule: str
    first_seed: int
    asked: int | None
    seeds: int
    jobs: int
    seconds: float
    cpu_seconds: float
    seeds_per_second: float
    seeds_per_second_per_core: float
    simulated_seconds: float
    settled: Settled | None
    checks: dict[str, int]
    hits: dict[str, int]
    failures: list[Failure]
    interrupted: bool


def figures(campaign: Campaign, tally: Tally, seconds: float, *, interrupted: bool) -> Figures:
    """seconds: that the campaign took."""
    return Figures(
        version=__version__,
        depth=campaign.depth,
        broken_rule=campaign.broken_rule,
        first_seed=campaign.first_seed,
        asked=campaign.seeds,
        seeds=tally.seeds,
        jobs=campaign.jobs,
        seconds=round(seconds, 3),
        cpu_seconds=round(tally.cpu_seconds, 3),
        seeds_per_second=_rate(tally.seeds, seconds),
        seeds_per_second_per_core=_rate(tally.seeds, tally.cpu_seconds),
        simulated_seconds=round(tally.simulated_seconds, 3),
        settled=tally.settled,
        checks={oracle: tally.checks[oracle] for oracle in sorted(tally.checks, key=in_order)},
        hits=dict(sorted(tally.hits.items())),
        failures=[with_replay(each, campaign) for each in tally.failures],
        interrupted=interrupted,
    )


def _rate(seeds: int, seconds: float) -> float:
    return round(seeds / seconds, 2) if seconds else 0.0


def in_order(oracle: str) -> tuple[int, str]:
    """I2 before I10; what has no number at the end."""
    number = oracle.removeprefix("I")
    return (int(number), "") if number.isdecimal() else (1_000, oracle)


def with_replay(failure: Failure, campaign: Campaign) -> Failure:
    return msgspec.structs.replace(failure, replay=replay(failure.seed, campaign.depth, campaign.broken_rule))


def replay(seed: int, depth: str, broken_rule: str = "") -> str:
    """The command that shows the history of a seed."""
    options = "" if depth == "protocol" else f" --depth {depth}"
    options += f" --break {broken_rule}" if broken_rule else ""
    return f"fleet sim --seed {seed}{options} --trace"


# -- for people --------------------------------------------------------------------------------------------------------


def opening(campaign: Campaign) -> str:
    """Said before anything is played: with it every seed can be played again."""
    without = f", without the rule {campaign.broken_rule}" if campaign.broken_rule else ""
    processes = "1 process" if campaign.jobs == 1 else f"{campaign.jobs} processes"
    return f"{_seeds(campaign)} at {campaign.depth} depth{without}, {processes}, shardfleet {__version__}"


def _seeds(campaign: Campaign) -> str:
    if campaign.seeds is None:
        return f"seeds from {campaign.first_seed} on, for {campaign.seconds:g} s,"
    return f"seeds {campaign.first_seed} to {campaign.first_seed + campaign.seeds - 1}"


def failure_lines(failure: Failure, campaign: Campaign) -> Iterator[str]:
    """One failure, and how to see it."""
    yield f"seed {failure.seed}: {_what(failure)}"
    yield f"  replay: {replay(failure.seed, campaign.depth, campaign.broken_rule)}"


def _what(failure: Failure) -> str:
    if failure.kind == "breach":
        return f"{failure.oracle} is broken at {failure.at:.3f} s: {failure.what}"
    if failure.kind == "error":
        *_, last = failure.what.rstrip().splitlines() or [""]
        return f"the simulation failed: {last}"
    return failure.what


def closing_lines(told: Figures) -> Iterator[str]:
    """The figures, then the verdict, which is the last line."""
    yield (
        f"{told.seeds:,} {_histories(told.seeds)} in {told.seconds:,.1f} s: {told.seeds_per_second:,.1f} a second, "
        f"{told.seeds_per_second_per_core:,.1f} per second of CPU; {told.simulated_seconds:,.0f} s simulated"
    )
    if told.settled is not None:
        took = f"{told.settled.lowest_seconds:.1f} to {told.settled.highest_seconds:.1f} s"
        yield f"healed fleets were as they should be within {took} (seed {told.settled.highest_seed})"
    if told.checks:
        yield f"checks  {_counts(told.checks)}"
    if told.hits:
        yield f"struck  {_counts(told.hits)}"
    for failure in told.failures:
        if failure.repeats is False:
            yield f"seed {failure.seed} did not come out the same in a second process: something is not deterministic"
    yield _verdict(told)


def _verdict(told: Figures) -> str:
    missing = told.asked - told.seeds if told.asked is not None else 0
    early = f"; {missing:,} of {told.asked:,} were not played" if missing else ""
    if told.interrupted:
        early = f"; it was stopped by hand{early}"
    if told.failures:
        noticed = ", ".join(sorted({each.oracle or each.kind for each in told.failures}, key=in_order))
        return f"{len(told.failures):,} of {told.seeds:,} {_histories(told.seeds)} failed: {noticed}{early}"
    if told.broken_rule:
        return f"nothing was broken: nobody noticed that {told.broken_rule} was missing{early}"
    return f"nothing was broken{early}"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _histories(count: int) -> str:
    return "history" if count == 1 else "histories"
