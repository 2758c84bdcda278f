"""Addresses outside the cluster: some are refused at first, and all are to be had in the end."""

from __future__ import annotations

import pytest

from chaos.simulation.stack.cloud import MOST_REFUSALS, Cloud, Refused

pytestmark = pytest.mark.looptime

UIDS = [f"uid-{number}" for number in range(40)]


async def refusals(cloud: Cloud, uid: str) -> int:
    for times in range(MOST_REFUSALS + 1):
        try:
            await cloud.rent(uid)
        except Refused:
            assert uid not in cloud.rented
        else:
            assert uid in cloud.rented
            return times
    pytest.fail(f"{uid} never gets an address")


async def test_some_are_refused_a_few_times_and_then_had() -> None:
    times = [await refusals(Cloud(1), uid) for uid in UIDS]
    assert 0 < sum(each > 0 for each in times) < len(UIDS) / 2


async def test_one_seed_refuses_the_same_every_time_in_whatever_order() -> None:
    there, back = Cloud(1), Cloud(1)
    times = {uid: await refusals(there, uid) for uid in UIDS}
    assert times == {uid: await refusals(back, uid) for uid in reversed(UIDS)}
    other = Cloud(2)
    assert times != {uid: await refusals(other, uid) for uid in UIDS}


async def test_what_was_given_back_is_rented_no_more() -> None:
    cloud = Cloud(1)
    for uid in UIDS:
        await refusals(cloud, uid)
        for _ in range(MOST_REFUSALS + 1):
            try:
                await cloud.give_back(uid)
            except Refused:
                assert uid in cloud.rented
    assert not cloud.rented
