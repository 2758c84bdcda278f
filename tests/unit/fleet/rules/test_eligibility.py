from __future__ import annotations

from dataclasses import replace

from fleet.records.record import MemberRecord
from fleet.rules.eligibility import eligible, newest_revision, preferred
from tests.unit.fleet.records.records import member


def pods(**revisions: str) -> dict[str, MemberRecord]:
    """One member in each pod; "_" stands for the dash."""
    names = {pod.replace("_", "-"): revision for pod, revision in revisions.items()}
    return {f"{pod}-0": member(f"{pod}-0", pod=pod, revision=revision) for pod, revision in names.items()}


def test_members_are_eligible_while_they_are_held_and_heard_of_and_stay() -> None:
    good = member("good")
    members = {
        each.name: each
        for each in (
            good,
            replace(good, name="fenced", holder=None),
            replace(good, name="leaving", leaving=True),
            replace(good, name="below-its-floor", epoch=2),
            replace(good, name="silent"),
        )
    }
    assert eligible(members, {"below-its-floor": 3, "good": 3}, silent=["silent"]) == ["good"]


def test_the_newest_revision_is_that_of_the_highest_pod_of_a_statefulset() -> None:
    members = pods(web_0="old", web_2="old", web_10="new")
    assert newest_revision(members.values()) == "new"
    assert preferred(members, members) == {"web-10-0"}


def test_a_fleet_of_one_revision_prefers_nobody() -> None:
    members = pods(web_0="same", web_1="same")
    assert newest_revision(members.values()) is None
    assert preferred(members, members) == frozenset()


def test_pods_without_an_order_or_a_revision_have_no_newest() -> None:
    assert newest_revision(pods(web_x="old", web_1="new").values()) is None
    assert newest_revision(pods(web_0="old", other_1="new").values()) is None
    assert newest_revision(pods(web_0="", web_1="new").values()) is None


def test_only_who_may_be_given_ranges_tells_which_revision_is_the_newest() -> None:
    members = pods(web_0="old", web_1="new", web_2="old")
    assert preferred(members, ["web-0-0", "web-1-0"]) == {"web-1-0"}
