"""The evaluator of the alerts' tests does what Prometheus would, as far as it goes, and refuses the rest."""

from __future__ import annotations

import pytest

from tests.unit.deploy.promql import STEP_SECONDS, Samples, evaluate, fires


def line(value: float, by: float, until: int = 600, /, name: str = "m", **labels: str) -> Samples:
    """One series that begins at `value` and grows by `by` a second."""
    samples = Samples()
    for now in range(0, until + 1, STEP_SECONDS):
        samples.add(now, name, value + by * now, **labels)
    return samples


def test_a_selector_takes_the_last_sample_and_the_labels_that_it_names() -> None:
    samples = line(1, 0, shard="a")
    samples.add(600, "m", 5, shard="b")
    assert evaluate('m{shard="b"}', samples, 600) == {frozenset({("shard", "b")}): 5}
    assert len(evaluate('m{shard!=""}', samples, 600)) == 2
    assert evaluate("m", samples, 1200) == {}


def test_an_aggregation_keeps_the_labels_that_it_is_by() -> None:
    samples = Samples()
    for worker, value in (("a", 1), ("b", 3)):
        samples.add(0, "m", value, worker=worker, job="j")
    assert evaluate("sum by (job) (m)", samples, 0) == {frozenset({("job", "j")}): 4}
    assert evaluate("max by (job) (m)", samples, 0) == {frozenset({("job", "j")}): 3}


def test_rates_slopes_and_increases_are_those_of_the_window() -> None:
    samples = line(7, 0.5)
    nobody: frozenset[tuple[str, str]] = frozenset()
    assert evaluate("rate(m[5m])", samples, 600)[nobody] == pytest.approx(0.5)
    assert evaluate("increase(m[5m])", samples, 600)[nobody] == pytest.approx(150)
    assert evaluate("deriv(m[5m])", samples, 600)[nobody] == pytest.approx(0.5)


def test_a_counter_that_begins_again_has_grown_all_the_same() -> None:
    samples = Samples()
    for now, value in ((0, 8), (60, 10), (120, 2)):
        samples.add(now, "m", value)
    assert evaluate("increase(m[2m])", samples, 120) == {frozenset(): pytest.approx(4)}


def test_two_vectors_are_divided_label_by_label_and_nothing_by_nothing_is_nothing() -> None:
    samples = Samples()
    for job, waited, count in (("a", 6, 3), ("b", 0, 0)):
        samples.add(0, "waited", waited, job=job)
        samples.add(0, "count", count, job=job)
    assert evaluate("waited / count > 1", samples, 0) == {frozenset({("job", "a")}): 2}


def test_an_alert_fires_when_its_expression_has_held_for_long_enough() -> None:
    samples = Samples()
    for now in range(0, 1201, STEP_SECONDS):
        samples.add(now, "m", float(now >= 600))
    assert not fires("m > 0", "10m", samples, 1185)
    assert fires("m > 0", "10m", samples, 1200)
    assert fires("m > 0", "0s", samples, 600)


@pytest.mark.parametrize("expression", ["absent(m)", "m offset 5m", "m > 1 and m", "rate(m)", "1", "m ^ 2"])
def test_what_it_does_not_know_is_refused(expression: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        evaluate(expression, line(1, 0), 600)
