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
from shards.clock import boot_seconds

SETTLED_SECONDS = 2.5
"""So long everything is left alone before the judge has the last word: workers note how they are every two seconds."""


def carry_out(experiment: Experiment, target: Target, *, heard: Heard, judging: Callable[[], None]) -> Journal:
    """On a target that has started. judging: called before the last word, which takes its time."""
    with NOW.on(target):
        clock_offset = time.time() - target.now()
        journal = Runner(experiment, target, clock=boot_seconds, today=time.time, sleep=target.sleep, heard=heard).run()
        if journal.status != "interrupted":
            target.sleep(SETTLED_SECONDS)
        judging()
        journal.judged_at = target.now()
        journal.target, journal.verdict = target.name, target.evidence.whole()
        journal.harms, journal.clock_offset = harms_of(target.pods), clock_offset
    return journal
