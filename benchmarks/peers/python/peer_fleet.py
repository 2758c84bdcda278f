"""A whole fleet as a peer: `fleet run` with FLEET_WORKERS worker processes, and FLEET_SHARDING for the API server.

The events are those of all workers together; `synced` is not known and told with the first reconcile. The last event
names the workers and what they have cost without supervisor and agent.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import protocol as p

from fleet.processes.prctl import set_parent_death_signal

WORKERS = int(os.environ.get("FLEET_WORKERS") or 4)
SHARDING = os.environ.get("FLEET_SHARDING") or "auto"
HERE = pathlib.Path(__file__).resolve().parent
POLL_SECONDS = 0.02
TICK = os.sysconf("SC_CLK_TCK")


def config(directory):
    path = directory / "fleet.yaml"
    found = {
        "fleet": f"bench-{os.getpid()}",
        "controller": f"{HERE / 'fleet_widgets.py'}:widgets",
        "shards": {"count": 16},
        "workers": {"perPod": WORKERS, "leaveSeconds": 0.5, "drainSeconds": 1},
        "queue": {"maxConcurrentReconciles": p.CONCURRENCY},
        "featureGates": {"ServerSideSharding": SHARDING},
        "agent": {"metricsPort": -1},
    }
    path.write_text(json.dumps(found))  # JSON is YAML
    return path


def counts(directory):
    """Reconciles so far, by pid."""
    found = {}
    for path in directory.iterdir():
        found[int(path.name)] = int.from_bytes(path.read_bytes(), "little")
    return found


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def follow(directory, running):
    """Marks what the workers reach, until all is reconciled or the fleet has ended."""
    first = False
    while running.poll() is None:
        found = counts(directory)
        if found and not first:
            first = True
            p.mark("synced")
            p.mark("first_reconcile")
        if sum(found.values()) >= p.N > 0:
            spent = {pid: cpu_seconds(pid) for pid in found}
            p.mark(
                "all_reconciled", workers=list(found), counts=list(found.values()), workers_cpu_s=sum(spent.values())
            )
            return
        time.sleep(POLL_SECONDS)


def main():
    p.mark("start")
    with tempfile.TemporaryDirectory(prefix="bench-fleet-") as scratch:
        directory = pathlib.Path(scratch)
        counting = directory / "counts"
        counting.mkdir()
        running = subprocess.Popen(
            [*p.FLEET_RUN, "--config", str(config(directory))],
            env={**os.environ, "BENCH_COUNTS": str(counting)},
            stdout=sys.stderr,
            preexec_fn=lambda: set_parent_death_signal(signal.SIGTERM),  # a harness that is killed leaves no fleet
        )
        signal.signal(signal.SIGTERM, lambda *_: running.terminate())
        signal.signal(signal.SIGUSR1, lambda *_: p.mark("gc"))
        follow(counting, running)
        running.wait()
    p.mark("stopped")


main()
