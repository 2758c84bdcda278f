from __future__ import annotations

from fleet.adoption import sentences
from shards.filtering.adoption import Count
from shards.objects import Resource

PAGES = Resource("", "v1", "configmaps")


def test_a_look_says_how_many_there_are_and_how_long_it_would_take() -> None:
    assert sentences([Count(PAGES, children=1200, missing=1180, wrong=2)], written=False, rate=10.0) == [
        "v1/configmaps: 1200 children, 1180 without their slot label, 2 with that of another owner",
        "nothing was written; --yes writes 1182 labels, which takes 118 s",
    ]


def test_where_none_is_left_it_says_what_that_allows() -> None:
    said = sentences([Count(PAGES, children=3, adopted=3)], written=True, rate=10.0)
    assert said[-1] == "0 children are left without their slot label: featureGates.SlotLabels may be on"


def test_what_changed_meanwhile_is_left_for_another_run() -> None:
    said = sentences([Count(PAGES, children=3, missing=1, adopted=2)], written=True, rate=10.0)
    assert said[-1] == "1 are left, which changed meanwhile: run it again"


def test_a_fleet_without_children_has_nothing_to_adopt() -> None:
    assert sentences([], written=False, rate=10.0) == ["no controller of this fleet owns children"]
