"""What is no breach, and what is one all the same."""

from __future__ import annotations

from collections import Counter

from chaos.simulation.plan import Plan
from chaos.simulation.stack.excuses import Excuses
from chaos.simulation.strikes import ClockRate

PLAN = Plan(seed=1, depth="stack")
POSTED = "v1/configmaps default/page-1 was posted again for owner u"


def test_nothing_is_excused_where_nothing_struck() -> None:
    excuses = Excuses(PLAN, Counter(), set())
    assert not any(excuses(f"I{number}", "something") for number in range(1, 28))


def test_what_a_view_cannot_show_is_found_by_posting_it_again() -> None:
    excuses = Excuses(PLAN, Counter(), {"page-1"})
    assert excuses("I11", POSTED)
    assert not excuses("I11", POSTED.replace("page-1", "page-2"))
    assert not excuses("I11", "v1/configmaps default/page-1 got the same status twice in a row")


def test_views_are_not_held_to_what_a_server_left_out_without_a_sign() -> None:
    for strike in ("dropped-events", "truncated-list"):
        excuses = Excuses(PLAN, Counter({strike: 1}), set())
        assert excuses("I17", "something")
        assert not excuses("I1", "something")
        assert not excuses("I10", "something")


def test_with_clocks_beyond_the_margin_only_compare_and_swap_is_judged() -> None:
    beyond = Plan(seed=1, depth="stack", strikes=(ClockRate(at=1.0, process="a", rate=3.0, seconds=1.0),))
    excuses = Excuses(beyond, Counter(), set())
    assert excuses("I1", "something")
    assert not excuses("I2", "something")
