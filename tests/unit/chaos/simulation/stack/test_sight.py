"""What was decided about a page is what is done to it."""

from __future__ import annotations

from typing import cast

from chaos.simulation.stack.demo import PAGES
from chaos.simulation.stack.sight import Sight
from chaos.simulation.stack.truth import Truth
from fleet.devcluster.recording.journal import Entry, Sent
from shards import Request
from shards.objects import Object
from shards.ownership.acts import REDECISIONS

AGENT = "fleet/sim m=a e=1 s=0000000000000000-ffffffffffffffff k=default/site-0 u=uid-of-site c=9 r=delete"
REQUEST = Request("default", "site-0", "uid-of-site")


def page(version: int) -> Object:
    return {"metadata": {"name": "site-0-1", "uid": "uid-of-page", "resourceVersion": str(version)}}


def found(*decided: int, sent: int) -> list[str]:
    """What is told of a page that was to be deleted in these versions, and was deleted in that one."""
    told: list[str] = []
    sight = Sight(cast(Truth, None), lambda oracle, what: told.append(oracle))
    for version in decided:
        sight.decides(REQUEST, page(version))
    asked = Sent(uid="uid-of-page", version=str(sent))
    sight.hear(Entry(1, 1.0, "delete", str(PAGES), "default", "site-0-1", uid="uid-of-page", status=200,
                     user_agent=AGENT, resource_version=str(sent), removed=True, sent=asked))  # fmt: skip
    return told


def test_a_page_is_deleted_as_it_was_decided() -> None:
    assert found(5, sent=5) == []
    assert found(5, 7, sent=7) == []
    assert found(5, 7, sent=5) == []


def test_a_decision_that_carries_the_version_of_another_state_mixes_two() -> None:
    assert found(5, sent=6) == ["I4"]


def test_after_so_many_decisions_it_is_deleted_as_it_is_found() -> None:
    decided = range(5, 5 + REDECISIONS)
    assert found(*decided, sent=20) == ["I4"]
    assert found(*decided, 19, sent=20) == []


def test_a_page_of_which_nobody_decided_is_not_asked_about() -> None:
    assert found(sent=6) == []
