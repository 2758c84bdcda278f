"""The main job, measured: 2,000 Websites on 4 workers and 16 shards, one worker killed.

The kill comes ten seconds after every shard had an owner. Most machines have settled all objects by then and are idle,
a slow one is still at work: the table says which of the two it was. Children, double posts and overlaps are counted by
the recorder in front of the embedded API server, not by the fleet.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import msgspec

from benchmarks.table import Row, conclude
from fleet.dev.report import Report

KILL_AFTER_SECONDS = 10
TAKEOVER_TARGET_SECONDS = 2.0

ARGUMENTS = (
    *("dev", "docs/examples/websites.py:websites", "--workers", "4", "--shards", "16", "--objects", "2000"),
    *("--until-settled", "--kill", f"worker@{KILL_AFTER_SECONDS}s", "--json"),
)


def rows(report: Report) -> list[Row]:
    takeover = next(iter(report.takeover_seconds), None)
    owned = takeover.owned_seconds if takeover else None
    reconciled = takeover.first_reconcile_seconds if takeover else None
    settled = report.settled_seconds
    still_settling = settled is None or settled > KILL_AFTER_SECONDS
    when = "while settling" if still_settling else "after settling"
    return [
        Row("objects", report.objects),
        Row("objects not reconciled", report.objects - report.reconciled, "", 0),
        Row("children", report.children),
        Row("reconciles until settled", report.reconciles_per_second, "1/s"),
        Row("settled after", settled, "s"),
        Row("memory of a worker, at most", report.worker_rss_mib, "MiB"),
        Row(f"takeover, killed {when}", owned, "s", TAKEOVER_TARGET_SECONDS),
        Row("first reconcile after the kill", reconciled, "s", TAKEOVER_TARGET_SECONDS),
        Row("longest time without an owner", report.max_unowned_seconds, "s", TAKEOVER_TARGET_SECONDS),
        Row("children posted twice", report.duplicate_child_posts, "", 0),
        Row("overlaps of ownership", report.overlap_violations, "", 0),
    ]


def main() -> int:
    fleet = Path(sys.executable).with_name("fleet")
    print(shlex.join(("fleet", *ARGUMENTS)), file=sys.stderr)
    done = subprocess.run([fleet, *ARGUMENTS], stdout=subprocess.PIPE, check=False)
    if not done.stdout:
        return done.returncode or 1  # it has said why on standard error
    missed = conclude(rows(msgspec.json.decode(done.stdout, type=Report)))
    return missed or done.returncode


if __name__ == "__main__":
    sys.exit(main())
