"""Ways to get the code of `fleet` wrong, each of which the exploration of that code has to find.

A mutation stands in for one function wherever the rules call it. It is not a rule that was removed from the model: here
the model is as it is, and the code is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

from fleet.rules import agenda, handover, layout, membership, reshard, stragglers
from fleet.rules.vanished import VanishedMembers
from tests.model import wrong
from tests.model.search import AVAILABILITY, LIVENESS, NOTHING, SAFETY

PLACES: tuple[object, ...] = (agenda, handover, layout, membership, reshard, stragglers, VanishedMembers)


class Mutation(NamedTuple):
    """what: is wrong with `function`. made: what stands in for it. also: another function that is
    replaced with it, where one covers the other. breaks: see `explorer`, in that scenario."""

    what: str
    function: Callable[..., Any]
    made: Callable[..., Any]
    breaks: str
    scenario: str
    also: tuple[Callable[..., Any], Callable[..., Any]] | None = None


@contextmanager
def in_force(mutation: Mutation) -> Iterator[None]:
    """In every module of the rules that has the function under its name."""
    pairs = ((mutation.function, mutation.made), *((mutation.also,) if mutation.also else ()))
    with ExitStack() as stack:
        for function, made in pairs:
            name = function.__name__
            for place in PLACES:
                if getattr(place, name, None) is function:
                    stack.enter_context(patch.object(place, name, made))
        yield


MUTATIONS = {
    "free-without-floors": Mutation(
        "ignores floors", wrong.is_free, wrong.free_without_floors, LIVENESS, "stalls and losses"
    ),
    "free-at-the-floor": Mutation(
        "takes the floor for dead", wrong.is_free, wrong.free_at_the_floor, SAFETY, "stalls and losses"
    ),
    "free-when-emptied": Mutation(
        "asks for no stamp", wrong.is_free, wrong.free_when_emptied, SAFETY, "a holder emptied"
    ),
    "free-for-nobody-else": Mutation(
        "does not know the claimant", wrong.is_free, wrong.free_for_its_holder_alone, LIVENESS, "nobody in office"
    ),
    "claim-without-raise": Mutation(
        "does not raise the epoch", wrong.claimed, wrong.claimed_at_the_same_epoch, SAFETY, "leaving for good"
    ),
    "claim-with-watermark": Mutation(
        "keeps the watermark", wrong.claimed, wrong.claimed_with_the_watermark, SAFETY, "moves to and fro"
    ),
    "claim-over-anything": Mutation(
        "names no version", wrong.claimed, wrong.claimed_over_anything, SAFETY, "leaving for good"
    ),
    "release-without-stamp": Mutation(
        "does not stamp", wrong.released, wrong.released_without_a_stamp, SAFETY, "leaving for good"
    ),
    "release-with-holder": Mutation(
        "leaves its holder", wrong.released, wrong.released_with_its_holder, LIVENESS, "leaving for good"
    ),
    "drain-for-nobody": Mutation(
        "drains without a standby", wrong.decide, wrong.drains_for_nobody, AVAILABILITY, "moves to and fro"
    ),
    "never-withdraw": Mutation(
        "withdraws nothing", wrong.decide, wrong.never_withdraws, AVAILABILITY, "moves to and fro"
    ),
    "claim-retired": Mutation(
        "claims what is retired", wrong.decide, wrong.claims_what_is_retired, SAFETY, "there and back"
    ),
    "keep-a-lost-claim": Mutation(
        "gives no lost claim back", wrong.decide, wrong.keeps_a_lost_claim, LIVENESS, "leaving for good"
    ),
    "never-release": Mutation(
        "drains and does not release", wrong.decide, wrong.never_releases, LIVENESS, "moves to and fro"
    ),
    "join-at-once": Mutation("does not wait", wrong.join, wrong.joins_at_once, SAFETY, "two of one name"),
    "join-without-raise": Mutation(
        "keeps the epoch", wrong.join, wrong.joins_at_the_epoch_that_it_finds, SAFETY, "nobody in office"
    ),
    "join-below": Mutation(
        "ignores what names it", wrong.join, wrong.joins_below_what_names_it, SAFETY, "a member Lease deleted"
    ),
    "hold-before-it-is-known": Mutation(
        "does not wait until others would know of it",
        membership.established,
        wrong.established_at_once,
        SAFETY,
        "two of a name that is new",
    ),
    "forget-a-floor-at-once": Mutation(
        "knows of nobody who may act without a record",
        VanishedMembers.doubted,
        wrong.nobody_doubted,
        SAFETY,
        "two of a name that is new",
    ),
    "forget-how-high": Mutation(
        "does not go with the floors that go",
        membership.forgotten,
        wrong.forgets_nothing_of_it,
        SAFETY,
        "a member Lease deleted in a running fleet",
    ),
    "fence-what-moved": Mutation(
        "ignores the version", wrong.fence, wrong.fences_what_has_moved, SAFETY, "leaving for good"
    ),
    "fence-without-waiting": Mutation(
        "ignores the timer", wrong.fence, wrong.fences_without_waiting, SAFETY, "leaving for good"
    ),
    "fence-without-raise": Mutation(
        "keeps the epoch", wrong.fence, wrong.fences_at_the_same_epoch, LIVENESS, "stalls and losses"
    ),
    "expel-by-one": Mutation(
        "writes what could be the member's own renewal",
        wrong.expel,
        wrong.expels_by_what_could_be_its_own,
        LIVENESS,
        "useless members and a loss",
    ),
    "leave-without-raise": Mutation(
        "keeps the epoch", wrong.leave, wrong.leaves_at_the_same_epoch, LIVENESS, "leaving for good"
    ),
    "floors-fall": Mutation(
        "follow downwards, which the epochs of new records cover",
        wrong.floors,
        wrong.floors_that_follow_downwards,
        NOTHING,
        "a member Lease deleted",
    ),
    "floors-too-low": Mutation(
        "one epoch too low", wrong.floors, wrong.floors_one_too_low, LIVENESS, "a member Lease deleted"
    ),
    "no-floor-for-the-gone": Mutation(
        "forget who is gone", wrong.floors, wrong.floors_without_the_gone, LIVENESS, "a member Lease deleted"
    ),
    "floors-stand-still": Mutation(
        "do not follow members", wrong.floors, wrong.floors_of_the_map_alone, LIVENESS, "a reshard"
    ),
    "retire-held": Mutation("ignores holders", wrong.may_retire, wrong.retires_what_is_held, SAFETY, "there and back"),
    "retire-lost": Mutation(
        "does not wait for echoes", wrong.may_retire, wrong.retires_what_is_lost, SAFETY, "a reshard and a loss"
    ),
    "retire-without-raise": Mutation(
        "keeps the epoch", wrong.retired, wrong.retired_at_the_same_epoch, SAFETY, "there and back"
    ),
    "activate-beside-others": Mutation(
        "does not look at what overlaps, and neither does who asks",
        wrong.activated,
        wrong.activated_beside_others,
        SAFETY,
        "a reshard and an election",
        (reshard.blocked_by, wrong.nothing_blocked),
    ),
    "echoed-by-nobody": Mutation(
        "asks no member", reshard.echoed, wrong.echoed_by_nobody, SAFETY, "a shard Lease deleted"
    ),
    "vanished-not-asked": Mutation(
        "leaves out members whose record is gone",
        VanishedMembers.everybody,
        wrong.asks_only_whose_record_is_there,
        SAFETY,
        "a member and a shard Lease deleted",
    ),
    "no-strays": Mutation(
        "finds none, and the ranges that leave do not retire",
        reshard.strays,
        wrong.no_strays,
        SAFETY,
        "a reshard",
        (wrong.relaid, wrong.relaid_without_retiring),
    ),
    "nothing-lost": Mutation("marks nothing lost", wrong.upkeep, wrong.nothing_lost, LIVENESS, "a shard Lease deleted"),
    "rebuilt-below": Mutation(
        "begins no higher", wrong.rebuilt, wrong.rebuilt_at_the_same_version, SAFETY, "the map deleted"
    ),
}
