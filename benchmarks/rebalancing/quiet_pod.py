"""`fleet run` whose workers note what becomes of their shards, and nothing else: with thousands of objects a shard, a
whole journal would cost more than what is measured.

    python -m benchmarks.rebalancing.quiet_pod run --config ... --journal DIRECTORY
"""

from __future__ import annotations

import sys
from pathlib import Path

from fleet import cli
from fleet.pod import worker_role
from fleet.workers.worker_journal import FileJournal
from shards.journal import NO_JOURNAL, Journal


class ShardNotes(FileJournal):
    """Whoever asks first whether it is on keeps their lines; a shard's own life is told unasked."""

    on = False


def open_journal(directory: Path | None, member: str, count: int) -> Journal:
    return NO_JOURNAL if directory is None else ShardNotes(directory, member, count)


if __name__ == "__main__":
    vars(worker_role)["open_journal"] = open_journal
    sys.exit(cli.main())
