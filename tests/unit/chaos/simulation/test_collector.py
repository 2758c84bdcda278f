"""When garbage is collected."""

from __future__ import annotations

import gc
from weakref import ref

from chaos.simulation.collector import Sweeper, collector_off


class Cycle:
    def __init__(self) -> None:
        self.me = self


def test_the_collector_is_off_within_and_as_before_after() -> None:
    with collector_off():
        assert not gc.isenabled()
        with collector_off():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_garbage_is_collected_between_histories_every_so_often() -> None:
    sweeper = Sweeper(histories=3)
    with sweeper.sweeping():
        garbage = ref(Cycle())
        kept = []
        for _ in range(4):
            sweeper.history_over()
            kept.append(garbage() is not None)
        assert not gc.isenabled()
    assert kept == [True, True, False, False]
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0
