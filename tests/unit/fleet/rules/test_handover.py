from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fleet.records.record import Holder, ShardMap, ShardRecord, ShardStatus, Standby
from fleet.rules.handover import (
    Action,
    LocalShard,
    Phase,
    Seen,
    announced_by,
    claimed,
    concerns,
    decide,
    is_free,
    released,
    standby_of,
    still_mine,
)
from fleet.rules.survey import Survey
from shards.gates.watermark import Watermark
from shards.keyrange import WHOLE, KeyRange, equal_boundaries, ranges_from
from tests.unit.fleet.records.records import shard, shard_map

LOW, HIGH = ranges_from(equal_boundaries(2))
ME, OLD_ME, OTHER = Holder("me", 5), Holder("me", 4), Holder("other", 9)


def record(holder: Holder | None = None, **changes: object) -> ShardRecord:
    """The record of LOW at epoch 7. Without a holder it was released."""
    text = str(holder) if holder is not None else ""
    released = 7 if holder is None else None
    base = {"epoch": 7, "holder": holder, "holder_text": text, "released": released, "uid": "u", "version": "1"}
    return shard(LOW, **(base | changes))


def the_map(target: str = "me", **changes: object) -> ShardMap:
    return shard_map("web", targets=(target, "other"), **changes)


def local(phase: Phase, *, synced: bool = False) -> LocalShard:
    return LocalShard(LOW, phase, epoch=7, uid="u", synced=synced)


def seen(record: ShardRecord | None, shard_map: ShardMap | None, **changes: object) -> Seen:
    return replace(Seen(ME, shard_map, record), **changes)  # type: ignore[arg-type]  # any field may change


# -- who may claim --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "floors", "claimant", "free"),
    [
        (record(), {}, None, True),
        (record(released=None), {}, ME, False),
        (record(released=6), {}, ME, False),
        (record(holder_text="gibberish"), {}, ME, False),
        (record(OTHER), {}, ME, False),
        (record(OTHER), {"other": 9}, ME, False),
        (record(OTHER), {"other": 10}, ME, True),
        (record(OTHER), {"other": 10}, None, True),
        (record(OLD_ME), {}, ME, True),
        (record(OLD_ME), {}, None, False),
        (record(ME), {}, ME, True),
        (record(Holder("me", 6)), {}, ME, False),
    ],
    ids=[
        "released",
        "emptied by hand",
        "emptied by hand after a release",
        "overwritten by hand",
        "held",
        "held at the floor",
        "held below the floor",
        "below the floor, whoever asks",
        "an earlier self",
        "an earlier self means nothing to a coordinator",
        "a claim whose answer was lost",
        "a later self",
    ],
)
def test_a_range_is_free_exactly_when_nobody_could_act(
    record: ShardRecord, floors: dict[str, int], claimant: Holder | None, free: bool
) -> None:
    assert is_free(record, the_map(floors=floors), claimant) is free


def test_a_range_that_is_held_is_not_free_for_its_holder() -> None:
    assert not is_free(record(ME), the_map(), ME, held=True)


# -- what is done ---------------------------------------------------------------------------------------------------

STANDBY = Standby(OTHER, 7)
MINE = Standby(ME, 7)
SYNCED = local(Phase.STANDBY, synced=True)


@pytest.mark.parametrize(
    ("now", "given", "expected"),
    [
        (SYNCED, seen(record(OTHER, standby=MINE), the_map("other")), Action.WITHDRAW),
        (
            local(Phase.STANDBY, synced=True),
            seen(record(OTHER, standby=MINE), the_map(), leaving=True),
            Action.WITHDRAW,
        ),
        (
            local(Phase.STANDBY, synced=True),
            seen(record(OTHER, standby=MINE), the_map(), outdated=True),
            Action.WITHDRAW,
        ),
        (local(Phase.STANDBY), seen(record(OTHER, standby=MINE), the_map()), Action.WITHDRAW),
        (local(Phase.IDLE), seen(record(OTHER, standby=MINE), the_map()), Action.WITHDRAW),
        (local(Phase.IDLE), seen(record(OTHER, standby=Standby(OLD_ME, 7)), the_map()), Action.WITHDRAW),
        (local(Phase.IDLE), seen(record(OTHER, standby=Standby(OLD_ME, 7)), the_map("other")), Action.WITHDRAW),
        (local(Phase.IDLE), seen(record(OTHER, standby=Standby(ME, 6)), the_map()), Action.OPEN_STANDBY),
        (local(Phase.IDLE), seen(record(standby=MINE), the_map("other")), None),
        (SYNCED, seen(record(standby=MINE), the_map()), Action.CLAIM),
        (SYNCED, seen(record(OTHER, standby=MINE), the_map()), None),
    ],
    ids=[
        "its target has changed",
        "it leaves",
        "its views are to be opened anew",
        "its views are not complete",
        "it has no standby",
        "an earlier self had one",
        "an earlier self had one for a range that went elsewhere",
        "of an earlier epoch: nobody heeds it",
        "released already, for somebody else",
        "released already",
        "it stands by",
    ],
)
def test_an_announcement_without_a_standby_behind_it_is_withdrawn(
    now: LocalShard, given: Seen, expected: Action | None
) -> None:
    assert decide(now, given) is expected


@pytest.mark.parametrize(
    ("phase", "given", "expected"),
    [
        (Phase.IDLE, seen(record(), the_map()), Action.CLAIM),
        (Phase.IDLE, seen(record(OTHER), the_map()), Action.OPEN_STANDBY),
        (Phase.IDLE, seen(record(ME), the_map()), Action.CLAIM),
        (Phase.IDLE, seen(record(), the_map("other")), None),
        (Phase.IDLE, seen(record(ME), the_map("other")), Action.RENOUNCE),
        (Phase.IDLE, seen(record(OLD_ME), the_map("other")), None),
        (Phase.IDLE, seen(record(ME), the_map(), leaving=True), Action.RENOUNCE),
        (Phase.IDLE, seen(record(), the_map(), leaving=True), None),
        (Phase.IDLE, seen(record(), the_map(lost={LOW: 3})), None),
        (Phase.IDLE, seen(record(ME), the_map("other", lost={LOW: 3})), None),
        (Phase.IDLE, seen(record(status=ShardStatus.RETIRED), the_map()), None),
        (Phase.IDLE, seen(None, the_map()), None),
        (Phase.IDLE, seen(record(), None), None),
        (Phase.IDLE, seen(record(), the_map(), me=None), None),
        (Phase.STANDBY, seen(record(), the_map()), Action.CLAIM),
        (Phase.STANDBY, seen(record(OTHER), the_map()), None),
        (Phase.STANDBY, seen(record(OTHER), the_map("other")), Action.CLOSE_STANDBY),
        (Phase.STANDBY, seen(record(ME), the_map("other")), Action.CLOSE_STANDBY),
        (Phase.STANDBY, seen(record(OTHER), the_map(), leaving=True), Action.CLOSE_STANDBY),
        (Phase.STANDBY, seen(None, the_map()), Action.CLOSE_STANDBY),
        (Phase.STANDBY, seen(record(OTHER), the_map(), me=None), Action.DROP),
        (Phase.OWNED, seen(record(ME), the_map()), None),
        (Phase.OWNED, seen(record(ME), the_map("")), None),
        (Phase.OWNED, seen(record(ME), the_map("other")), None),
        (Phase.OWNED, seen(record(ME, standby=STANDBY), the_map("other")), Action.DRAIN),
        (Phase.OWNED, seen(record(ME, standby=Standby(OTHER, 6)), the_map("other")), None),
        (Phase.OWNED, seen(record(ME, standby=Standby(Holder("third", 1), 7)), the_map("other")), None),
        (Phase.OWNED, seen(record(ME, standby=STANDBY), the_map("other", floors={"other": 10})), None),
        (Phase.OWNED, seen(record(ME), shard_map(boundaries=(0,), targets=("me",))), Action.DRAIN),
        (Phase.OWNED, seen(record(ME), the_map(), forced=True, leaving=True), Action.DRAIN),
        (Phase.OWNED, seen(record(ME), the_map(), leaving=True), None),
        (Phase.OWNED, seen(record(ME), the_map(lost={LOW: 3})), Action.DROP),
        (Phase.OWNED, seen(None, the_map()), Action.DROP),
        (Phase.OWNED, seen(record(ME), None), Action.DROP),
        (Phase.OWNED, seen(record(ME), the_map(), me=None), Action.DROP),
        (Phase.OWNED, seen(record(ME), the_map(), outdated=True), Action.DRAIN),
        (Phase.OWNED, seen(record(ME), the_map("other"), outdated=True), None),
        (Phase.OWNED, seen(record(ME), the_map(""), outdated=True), None),
        (Phase.STANDBY, seen(record(OTHER), the_map(), outdated=True), Action.CLOSE_STANDBY),
        (Phase.STANDBY, seen(record(), the_map(), outdated=True), Action.CLAIM),
        (Phase.IDLE, seen(record(), the_map(), outdated=True), Action.CLAIM),
        (Phase.DRAINED, seen(record(ME), the_map()), Action.RELEASE),
        (Phase.DRAINED, seen(record(), the_map()), Action.CLOSE_STANDBY),
        (Phase.DRAINED, seen(None, the_map()), Action.CLOSE_STANDBY),
        (Phase.DRAINED, seen(record(ME), the_map(), me=None), Action.DROP),
    ],
)
def test_the_next_action_follows_from_what_is_seen(phase: Phase, given: Seen, expected: Action | None) -> None:
    assert decide(local(phase), given) is expected


@pytest.mark.parametrize(
    ("announced", "expected"),
    [
        (None, Action.ANNOUNCE),
        (Standby(ME, 7), None),
        (Standby(ME, 6), Action.ANNOUNCE),
        (Standby(OLD_ME, 7), Action.ANNOUNCE),
        (Standby(Holder("third", 1), 7), Action.ANNOUNCE),
    ],
)
def test_a_synced_standby_is_announced_until_the_record_says_so(
    announced: Standby | None, expected: Action | None
) -> None:
    found = seen(record(OTHER, standby=announced), the_map())
    assert decide(local(Phase.STANDBY, synced=True), found) is expected


@pytest.mark.parametrize(
    "changed",
    [
        {"uid": "recreated"},
        {"epoch": 8},
        {"status": ShardStatus.RETIRED},
        {"holder": OTHER},
        {"holder": OLD_ME},
        {"holder": None},
    ],
)
def test_a_range_is_dropped_when_its_record_is_not_the_one_that_was_claimed(changed: dict[str, object]) -> None:
    found = replace(record(ME), **changed)  # type: ignore[arg-type]  # any field may change
    assert not still_mine(local(Phase.OWNED), found, ME)
    assert decide(local(Phase.OWNED), seen(found, the_map())) is Action.DROP
    assert decide(local(Phase.DRAINED), seen(found, the_map())) is Action.CLOSE_STANDBY


# -- what is never done ---------------------------------------------------------------------------------------------

holders = st.sampled_from([None, ME, OLD_ME, OTHER, Holder("third", 2)])


@st.composite
def anything(draw: st.DrawFn) -> tuple[LocalShard, Seen]:
    holder = draw(holders)
    standby = draw(st.none() | st.builds(Standby, holders.filter(bool), st.integers(6, 7)))
    found = record(
        holder,
        status=draw(st.sampled_from(ShardStatus)),
        released=draw(st.sampled_from([None, 6, 7])),
        epoch=draw(st.integers(6, 8)),
        uid=draw(st.sampled_from(["u", "v"])),
        standby=standby,
    )
    layout = draw(st.sampled_from([equal_boundaries(2), equal_boundaries(1)]))
    targets = tuple(draw(st.sampled_from(["", "me", "other"])) for _ in layout)
    lost = draw(st.sampled_from([{}, {LOW: 1}]))
    floors = draw(st.dictionaries(st.sampled_from(["me", "other", "third"]), st.integers(0, 12)))
    shown = shard_map(boundaries=layout, targets=targets, lost=lost, floors=floors)
    return (
        local(draw(st.sampled_from(Phase)), synced=draw(st.booleans())),
        Seen(
            me=draw(st.sampled_from([None, ME])),
            map=draw(st.sampled_from([None, shown])),
            record=draw(st.sampled_from([None, found])),
            leaving=(leaving := draw(st.booleans())),
            forced=leaving and draw(st.booleans()),
            outdated=draw(st.booleans()),
        ),
    )


@settings(max_examples=80)
@example((local(Phase.STANDBY), seen(record(ME), the_map("other"))))
@example((local(Phase.IDLE), seen(record(OTHER, standby=Standby(ME, 7)), the_map(""))))
@given(anything())
def test_nothing_is_done_to_a_range_that_it_must_not_be_done_to(case: tuple[LocalShard, Seen]) -> None:
    mine, given = case
    action = decide(mine, given)
    me, shown, found = given.me, given.map, given.record
    owned = mine.phase in (Phase.OWNED, Phase.DRAINED)
    if action is None or action is Action.DROP:
        assert action is Action.DROP or not owned or (me and shown and still_mine(mine, found, me))
        assert action is Action.DROP or not owned or (shown and LOW not in shown.lost)
        return
    assert me is not None
    assert shown is not None
    if action in (Action.CLAIM, Action.OPEN_STANDBY, Action.ANNOUNCE):
        assert found is not None
        assert found.status is ShardStatus.ACTIVE
        assert not owned
        assert not given.leaving
        assert LOW not in shown.lost
        assert shown.target_of(LOW) == "me"
        assert is_free(found, shown, me) is (action is Action.CLAIM)
    elif action in (Action.DRAIN, Action.RELEASE):
        assert owned
        assert found is not None
        assert still_mine(mine, found, me)
        assert (action is Action.RELEASE) is (mine.phase is Phase.DRAINED)
    elif action is Action.RENOUNCE:
        assert mine.phase is Phase.IDLE
        assert found is not None
        assert found.holder == me
    elif action is Action.WITHDRAW:
        assert not owned
        assert found is not None
        assert announced_by(found, me)
        assert not is_free(found, shown, me)
        stands_by = mine.phase is Phase.STANDBY and mine.synced and not given.outdated
        assert given.leaving or shown.target_of(LOW) != "me" or not stands_by
    else:
        assert action is Action.CLOSE_STANDBY
        if mine.phase is Phase.DRAINED:
            assert not still_mine(mine, found, me)
        else:
            assert mine.phase is Phase.STANDBY
            wanted_here = found is not None and found.status is ShardStatus.ACTIVE and LOW not in shown.lost
            assert given.leaving or given.outdated or not wanted_here or shown.target_of(LOW) != "me"


# -- what is written ------------------------------------------------------------------------------------------------


def test_a_claim_raises_the_epoch_and_takes_watermark_standby_and_stamp_away() -> None:
    found = record(watermark=Watermark(7), standby=STANDBY, last_holder=OTHER)
    written = claimed(found, ME)
    assert (written.epoch, written.holder, written.holder_text, written.last_holder) == (8, ME, "me@5", ME)
    assert (written.watermark, written.standby, written.released) == (None, None, None)
    assert (written.version, written.uid) == ("1", "u")


def test_a_release_is_stamped_with_the_epoch_and_carries_the_watermark_under_it() -> None:
    written = released(record(ME, standby=STANDBY), Watermark(3))
    assert (written.epoch, written.holder, written.holder_text, written.released) == (7, None, "", 7)
    assert written.watermark == Watermark(7)
    assert written.standby == STANDBY
    assert is_free(written, the_map())
    assert released(record(ME), None).watermark is None


def test_a_standby_counts_for_the_target_that_it_names() -> None:
    found = record(ME, standby=STANDBY)
    assert standby_of(found, "other", the_map("other")) == STANDBY
    assert standby_of(found, "third", the_map("other")) is None


def test_a_map_knows_the_target_of_its_own_ranges_only() -> None:
    assert the_map().target_of(LOW) == "me"
    assert the_map().target_of(HIGH) == "other"
    assert the_map().target_of(KeyRange(LOW.first, HIGH.last)) is None
    assert the_map().target_of(KeyRange(1, LOW.last)) is None
    assert the_map().target_of(KeyRange(LOW.first, LOW.last - 1)) is None


def test_a_record_of_another_protocol_is_left_alone_in_every_phase() -> None:
    foreign = replace(shard(WHOLE), holder=None, holder_text="another protocol", foreign=True)
    shown = shard_map(boundaries=(0,), targets=("a",))
    me = Holder("a", 3)
    for phase, wanted in ((Phase.IDLE, None), (Phase.STANDBY, Action.CLOSE_STANDBY), (Phase.OWNED, Action.DROP)):
        assert decide(LocalShard(WHOLE, phase, epoch=5, synced=True), Seen(me, shown, foreign)) is wanted


# -- whom a range concerns --------------------------------------------------------------------------------------------

people = st.sampled_from((ME, OLD_ME, OTHER, None))


@given(
    target=st.sampled_from(("me", "other", "")),
    holder=people,
    standby=people,
    released_at=st.sampled_from((None, 7)),
    text=st.sampled_from(("", "gibberish")),
    status=st.sampled_from(tuple(ShardStatus)),
    floors=st.sampled_from(({}, {"me": 9}, {"other": 99})),
    there=st.booleans(),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_a_member_has_nothing_to_do_about_an_idle_range_that_does_not_concern_it(
    target: str,
    holder: Holder | None,
    standby: Holder | None,
    released_at: int | None,
    text: str,
    status: ShardStatus,
    floors: dict[str, int],
    there: bool,
    flags: tuple[bool, bool, bool],
) -> None:
    found = record(
        holder,
        status=status,
        released=released_at,
        standby=None if standby is None else Standby(standby, 7),
        **({"holder_text": text} if holder is None else {}),
    )
    shown, shards = the_map(target, floors=floors), {LOW: found} if there else {}
    leaving, forced, outdated = flags
    asked = Seen(ME, shown, shards.get(LOW), leaving, forced, outdated)
    if LOW not in concerns(Survey(shown, shards)).get("me", ()):
        assert decide(local(Phase.IDLE), asked) is None


def test_a_range_concerns_its_target_its_holder_and_its_standby() -> None:
    found = {LOW: record(Holder("h", 1), standby=Standby(Holder("s", 1), 7)), WHOLE: shard(WHOLE, holder=OTHER)}
    assert concerns(Survey(the_map("me"), found)) == {
        "me": {LOW},
        "h": {LOW},
        "s": {LOW},
        "other": {HIGH, WHOLE},
    }
