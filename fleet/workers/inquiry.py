"""Asks the ranges of a worker what to do, as seldom as will do: a worker looks several times a second, and knows of all
ranges of the fleet, of which it has a few."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from fleet.records.coordination import CoordinationView
from fleet.records.record import Holder
from fleet.rules.handover import Seen, concerns
from fleet.rules.membership import highest_epochs, highest_named_epoch
from fleet.rules.survey import Survey
from fleet.workers.departure import Departure
from fleet.workers.range_runner import RangeRunner
from fleet.workers.turnover import Turnover
from shards.keyrange import KeyRange


class _Question(NamedTuple):
    """What is the same for all ranges. anew: the range whose turn it is to open its views anew."""

    survey: Survey | None
    me: Holder | None
    leaving: bool
    forced: bool
    anew: KeyRange | None


class Inquiry:
    """Invariant: a range is asked again whenever anything has changed that its answer depends on."""

    def __init__(self, member: str, runners: Mapping[KeyRange, RangeRunner], departure: Departure) -> None:
        self._member = member
        self._runners = runners
        self._departure = departure
        self._turnover = Turnover(member)
        self._survey: Survey | None = None
        self._asked: _Question | None = None
        self._waiting = False

    def survey(self, view: CoordinationView) -> Survey | None:
        """Of what the view shows; None before the first map. The same one while that is the same."""
        stored, shards = view.last_map, view.shards
        if stored is None:
            return None
        if self._survey is None or not self._survey.is_of(stored.map, shards):
            self._survey = Survey(stored.map, shards)
        return self._survey

    def highest_epoch(self, view: CoordinationView) -> int:
        """Of this member, that the map or any shard record remembers (R14)."""
        survey = self.survey(view)
        if survey is None:
            return highest_named_epoch(self._member, None, view.shards.values())
        return survey.find(highest_epochs).get(self._member, 0)

    @property
    def depends_on_time(self) -> bool:
        """Whether time alone may change what a range does next, but for the end of the membership."""
        return self._waiting or self._departure.leaving

    def ask(self, view: CoordinationView, me: Holder | None, *, rung: bool) -> bool:
        """Whether ranges were asked, which start what there is to do.

        rung: something may have changed. Otherwise only time has passed: where nothing waits for its time, and no
        deadline has passed, everything was asked already.
        """
        survey = self.survey(view)
        shard_map = survey.map if survey is not None else None
        question = _Question(
            survey,
            me,
            self._departure.leaving,
            self._departure.forced(shard_map),
            self._turnover.next(self._runners, shard_map),
        )
        if not rung and question == self._asked and not self._waiting:
            return False
        self._asked, self._waiting = question, False
        mine = survey.find(concerns).get(self._member, frozenset()) if survey is not None else frozenset()
        for each, runner in self._runners.items():
            if each in mine or not runner.at_rest:
                runner.evaluate(
                    Seen(
                        me=me,
                        map=shard_map,
                        record=view.shards.get(each),
                        leaving=question.leaving,
                        forced=question.forced,
                        outdated=each == question.anew and runner.outdated and not question.leaving,
                    )
                )
                self._waiting = self._waiting or runner.waits
        return True
