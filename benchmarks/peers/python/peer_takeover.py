"""Two pods of a fleet as a peer of `failover`: what dies is killed here, since every worker of a fleet works.

For each way to die, REPEATS times: waits until every worker owns keys and all is quiet, ends one, and tells `takeover`
with the seconds until the first of its keys was reconciled by another process, and until all were. HOW: which ways of
those in DEATHS, with commas. Elsewhere it is the time until a standby, which held no key, reconciles its first.
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

HERE = pathlib.Path(__file__).resolve().parent
REPEATS = int(os.environ.get("REPEATS") or 5)
WORKERS = int(os.environ.get("FLEET_WORKERS") or 2)
DEATHS = ("SIGKILL of a worker", "SIGKILL of a pod", "SIGTERM of a pod")
HOW = (os.environ.get("HOW") or ",".join(DEATHS)).split(",")
POLL_SECONDS = 0.005
QUIET_SECONDS = 3.0
LIMIT_SECONDS = 120.0


class Pod:
    """`fleet run` with a directory of its own, and the environment that the downward API would give it."""

    def __init__(self, name, scratch):
        self.name = name
        self.run_dir = scratch / name
        environment = {"BENCH_COUNTS": str(scratch / "counts"), "POD_NAME": name, "POD_UID": f"uid-of-{name}"}
        self.process = subprocess.Popen(
            [*p.FLEET_RUN, "--config", str(scratch / "fleet.yaml"), "--run-dir", str(self.run_dir)],
            env={**os.environ, **environment, "POD_NAMESPACE": "default"},
            stdout=sys.stderr,
            preexec_fn=lambda: set_parent_death_signal(signal.SIGKILL),
        )

    def workers(self):
        """Their pids; none while they are not there."""
        try:
            children = json.loads((self.run_dir / "children.json").read_text())
        except (OSError, ValueError):
            return {}
        return {name: child["pid"] for name, child in children.items() if name.startswith("worker")}


class Reconciles:
    """What the workers have written down: the time and the key of every reconcile."""

    def __init__(self, directory):
        self._directory = directory
        self._read = {}
        self.owners = {}
        self.last_ns = 0
        self.seen = []

    def look(self):
        """Takes in what is new. seen: (nanoseconds, key, pid) of all so far."""
        fresh = []
        for path in self._directory.iterdir():
            start = self._read.get(path.name, 0)
            with path.open() as file:
                file.seek(start)
                text = file.read()
            whole = text[: text.rfind("\n") + 1]
            self._read[path.name] = start + len(whole)
            for line in whole.splitlines():
                at, key = line.split(" ", 1)
                fresh.append((int(at), key, int(path.name)))
        for at, key, pid in sorted(fresh):
            self.owners[key] = pid
            self.last_ns = max(self.last_ns, at)
        self.seen += sorted(fresh)


def until(condition, what):
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"not within {LIMIT_SECONDS} s: {what}")
        time.sleep(POLL_SECONDS)


def settled(pods, reconciles):
    """Every worker of every pod owns keys, and nothing has happened for a while."""
    reconciles.look()
    pids = {pid for pod in pods for pid in pod.workers().values()}
    quiet = time.time_ns() - reconciles.last_ns > QUIET_SECONDS * 1e9
    return len(pids) == WORKERS * len(pods) and quiet and pids == set(reconciles.owners.values())


def measured(how, pods, reconciles, scratch):
    until(lambda: settled(pods, reconciles), "every worker owns keys")
    pod = pods[0]
    one = pod.workers()["worker-0"]
    victims = {one} if how.endswith("worker") else set(pod.workers().values())
    keys = {key for key, pid in reconciles.owners.items() if pid in victims}
    sent = getattr(signal, how.split()[0])
    at = time.time_ns()
    os.kill(one if how.endswith("worker") else pod.process.pid, sent)
    taken = {}

    def all_taken():
        reconciles.look()
        for when, key, pid in reconciles.seen:
            if when > at and key in keys and pid not in victims:
                taken.setdefault(key, when)
        return len(taken) == len(keys)

    until(all_taken, f"all keys are taken over after {how}")
    times = [(when - at) / 1e9 for when in taken.values()]
    p.mark("takeover", how=how, seconds=min(times), all_s=max(times), keys=len(keys))
    if not how.endswith("worker"):
        pod.process.wait(30)
        pods.append(Pod(pod.name, scratch))
        del pods[0]


def main():
    p.mark("start")
    with tempfile.TemporaryDirectory(prefix="bench-takeover-") as name:
        scratch = pathlib.Path(name)
        (scratch / "counts").mkdir()
        config = {
            "fleet": f"bench-{os.getpid()}",
            "controller": f"{HERE / 'fleet_takeover.py'}:widgets",
            "workers": {"perPod": WORKERS},
            "queue": {"maxConcurrentReconciles": p.CONCURRENCY},
            "rebalance": {"churnPerRound": 1.0, "cooldownSeconds": 1.0},
            "agent": {"metricsPort": -1},
        }
        (scratch / "fleet.yaml").write_text(json.dumps(config))  # JSON is YAML
        reconciles = Reconciles(scratch / "counts")
        pods = [Pod(f"bench-{number}", scratch) for number in range(2)]
        try:
            for _ in range(REPEATS):
                for how in HOW:
                    measured(how, pods, reconciles, scratch)
        finally:
            for pod in pods:
                pod.process.terminate()
            for pod in pods:
                pod.process.wait(30)
    p.mark("stopped")


main()
