"""What a coordinator plans by, and how it says what it cuts."""

from __future__ import annotations

import pytest

from fleet.office.config_follower import ConfigFollower
from fleet.office.resharding import Resharding
from fleet.records.record import Document, DocumentName, Holder
from fleet.rules.cuts import Split
from fleet.rules.look import Look
from fleet.rules.plan_settings import PlanSettings
from shards.keyrange import WHOLE
from tests.unit.fleet.records.records import shard, shard_map


def test_plans_follow_the_config_that_the_fleet_follows() -> None:
    """A budget that is raised there counts at once."""
    follower = ConfigFollower("web")
    assert follower.planning is None
    text = "fleet: web\ncontroller: a:b\nrebalance: {churnPerRound: 0.5, tolerance: 0.2}\nshards: {autoSplit: true}\n"
    follower.look(Document(DocumentName.CONFIG, text, "1"))
    assert follower.planning == PlanSettings(churn_per_round=0.5, tolerance=0.2, auto_split=True)
    follower.look(Document(DocumentName.CONFIG, "fleet: other\ncontroller: a:b\n", "2"))
    assert follower.planning is not None
    assert follower.planning.auto_split, "what is refused changes nothing"


def test_a_config_says_nothing_about_how_long_targets_are_waited_for() -> None:
    follower = ConfigFollower("web", standby_deadline_seconds=1.5)
    follower.look(Document(DocumentName.CONFIG, "fleet: web\ncontroller: a:b\n", "1"))
    assert follower.planning == PlanSettings(standby_deadline_seconds=1.5)


def test_a_cut_of_the_planner_is_told_and_begins_a_cool_down(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    found = shard_map("web", boundaries=(0,), targets=("a",), opened=frozenset({WHOLE}))
    look = Look(1, found, {WHOLE: shard(WHOLE, holder=Holder("a", 3))}, {}, 0.0, 8.0, today=1000.0)
    cut = Split(WHOLE, 1 << 63, "it is hot")
    new = Resharding(ConfigFollower("web")).next_map(look, (cut,))
    assert new is not None
    assert new.boundaries == (0, 1 << 63)
    assert new.moved_at == 1000
    assert f"plan: {cut}" in caplog.messages
