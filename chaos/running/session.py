"""One experiment from the start of its fleet to the last word of the judge."""

from __future__ import annotations

import time
from collections.abc import Callable

from chaos.documents.experiment import Experiment
from chaos.running.harms import harms_of
from chaos.running.journal import Journal
from chaos.running.runner import Heard, Runner
from chaos.targets.running import NOW
from chaos.targets.target import Target
from fleet.devcluster.evidence.verdict import Verdict
from shards.clock import boot_seconds
from shards.errors import ShardError

SETTLED_SECONDS = 2.5
"""So long everything is left alone before the judge has the last word: workers note how they are every two seconds."""


def carry_out(experiment: Experiment, target: Target, *, heard: Heard, judging: Callable[[], None]) -> Journal:
    """On a target that has started. judging: called before the last word, which takes its time. Where that cannot be
    had, the journal says why."""
    with NOW.on(target):
        clock_offset = time.time() - target.now()
        runner = Runner(experiment, target, clock=boot_seconds, today=time.time, sleep=target.sleep, heard=heard)
        journal = runner.run()
        try:
            if journal.status != "interrupted":
                target.sleep(SETTLED_SECONDS)
            judging()
        except KeyboardInterrupt:  # everything was put back: what is known is said all the same
            journal.status = "interrupted"
        journal.judged_at = target.now()
        journal.target = target.name
        journal.harms, journal.clock_offset = harms_of(target.pods), clock_offset
        try:
            journal.verdict = target.evidence.whole()
        except ShardError as error:
            journal.trouble = f"what was recorded cannot be judged to the end: {error}"
        else:
            runner.ask_again(journal, _Judged(journal.verdict))
    return journal


class _Judged:
    """A target, as far as a probe asks it for the judge's last word."""

    def __init__(self, verdict: Verdict) -> None:
        self.evidence = self
        self._verdict = verdict

    def verdict(self) -> Verdict:
        return self._verdict

    def whole(self) -> Verdict:
        return self._verdict
