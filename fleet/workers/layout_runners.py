"""Which ranges a worker has runners for: those of the layout, and those of earlier ones until they are over."""

from __future__ import annotations

from fleet.records.record import ShardStatus
from fleet.rules.handover import Phase, concerns
from fleet.rules.survey import Survey
from fleet.workers.range_runner import RangeRunner
from fleet.workers.runner_context import RunnerContext
from shards.keyrange import KeyRange


def follow_layout(runners: dict[KeyRange, RangeRunner], survey: Survey | None, context: RunnerContext) -> None:
    """Adds what is new. Drops those that nobody will ask for again: idle, outside the layout, with records that are
    retired or gone.

    A record that was taken for gone may come back (a list was incomplete), and name this member: then nobody else could
    say that nothing acts on the range, and it would never retire.
    """
    if survey is None:
        return
    shard_map, shards = survey.map, survey.shards
    for each in shard_map.ranges:
        if each not in runners:
            runners[each] = RangeRunner(each, context)
    for each in sorted(survey.find(concerns).get(context.member, frozenset()) - runners.keys()):
        if shards[each].status is ShardStatus.ACTIVE:
            runners[each] = RangeRunner(each, context)
    if len(runners) == len(shard_map.boundaries):
        return
    layout = set(shard_map.ranges)
    for each in [each for each in runners if each not in layout]:
        runner, record = runners[each], shards.get(each)
        idle = runner.local.phase is Phase.IDLE and not runner.holding and not runner.busy
        if idle and (record is None or record.status is ShardStatus.RETIRED):
            del runners[each]
