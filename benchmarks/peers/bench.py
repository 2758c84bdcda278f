"""Runs the peers of peers.toml through the workloads and appends one JSON line per measurement.

    python3 bench.py sync --n 20000 --rounds 3 --peers cr-unstructured,client-go
    python3 bench.py latency --n 20000 --rounds 3
    python3 bench.py work --rounds 3
    python3 bench.py failover
    python3 bench.py queue --rounds 5

The environment must hold LAB (a scratch folder), KUBECONFIG, SERVER, TOKEN and CA_FILE; run.sh sets them.
"""

import argparse
import ctypes
import json
import os
import pathlib
import queue
import random
import signal
import subprocess
import threading
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
LAB = pathlib.Path(os.environ["LAB"])
TICK = os.sysconf("SC_CLK_TCK")
MIB = 1 << 20


def family(pid):
    yield pid
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            for kid in task.read_text().split():
                yield from family(int(kid))
        except OSError:
            pass


def cpu(pid):
    """User plus system seconds of a process and its living children."""
    total = 0
    for p in family(pid):
        try:
            fields = pathlib.Path(f"/proc/{p}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def memory(pid, field="VmRSS"):
    """Bytes of resident memory (VmRSS) or of its peak (VmHWM)."""
    total = 0
    for p in family(pid):
        try:
            for line in pathlib.Path(f"/proc/{p}/status").read_text().splitlines():
                if line.startswith(field):
                    total += int(line.split()[1]) * 1024
        except OSError:
            pass
    return total


def shared_memory(pid):
    """Bytes of a process alone, where pages that several processes share count for each in equal parts."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def apiserver():
    try:
        return int((LAB / "apiserver.pid").read_text())
    except (OSError, ValueError):
        return 0


def tool(*args, limit=3600):
    out = subprocess.run([os.environ["BIN"] + "/benchtool", *map(str, args)], stdout=subprocess.PIPE, timeout=limit)
    if out.returncode:
        raise SystemExit(f"benchtool {args} failed")
    return json.loads(out.stdout.splitlines()[-1])


def end_with_parent():
    """In the child: SIGTERM when the harness dies, however it does."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Peer:
    """One running peer: its event lines, each with a snapshot of time, CPU and memory."""

    def __init__(self, name, spec, workload, **env):
        self.name, self.events, self.inbox = name, {}, queue.Queue()
        mine = dict(os.environ, HERE=str(HERE), WORKLOAD=workload)
        mine.update(spec.get("also", {}))
        mine.update({k: str(v) for k, v in env.items()})
        command = [os.path.expandvars(part.replace("$HERE", str(HERE))) for part in spec["command"]]
        (LAB / "logs").mkdir(exist_ok=True)
        self.log = (LAB / "logs" / f"{name}-{workload}.log").open("ab")
        self.began, self.api0 = time.time_ns(), cpu(apiserver())
        self.process = subprocess.Popen(
            command, env=mine, stdout=subprocess.PIPE, stderr=self.log, preexec_fn=end_with_parent
        )
        self.pid = self.process.pid
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            event.update(cpu=cpu(self.pid), rss=memory(self.pid), api_cpu=cpu(apiserver()) - self.api0)
            event["after"] = (event["t"] - self.began) / 1e9
            self.events.setdefault(event["event"], event)
            self.inbox.put(event)
        self.inbox.put({"event": "exit"})

    def wait(self, name, limit=600):
        until = time.monotonic() + limit
        while True:
            try:
                event = self.inbox.get(timeout=max(0, until - time.monotonic()))
            except queue.Empty:
                raise TimeoutError(f"{self.name}: no {name} within {limit} s") from None
            if event["event"] == name:
                return event
            if event["event"] == "exit":
                raise RuntimeError(f"{self.name}: ended before {name}")

    def ask(self, sig, name, limit=60):
        os.kill(self.pid, sig)
        return self.wait(name, limit)

    def end(self, sig=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sig)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()


def sync(name, spec, args):
    peer = Peer(name, spec, "sync", N=args.n)
    try:
        done = peer.wait("all_reconciled", args.limit)
        time.sleep(5)
        steady, peak = memory(peer.pid), memory(peer.pid, "VmHWM")
        # A fleet names its workers: what supervisor and agent cost is not theirs. They collect nothing for a harness.
        workers = done.get("workers") or list(family(peer.pid))
        shared = sum(map(shared_memory, workers))
        peer.ask(signal.SIGUSR1, "gc")
        time.sleep(0.5)
        synced, first = peer.events["synced"], peer.events["first_reconcile"]
        return [
            {
                "workers": len(workers),
                "workers_cpu_s": done.get("workers_cpu_s", done["cpu"]),
                "workers_pss_mib": shared / MIB,
                "sync_s": synced["after"],
                "sync_cpu_s": synced["cpu"],
                "first_s": first["after"],
                "all_s": done["after"],
                "all_cpu_s": done["cpu"],
                "peak_mib": peak / MIB,
                "steady_mib": steady / MIB,
                "gc_mib": memory(peer.pid) / MIB,
                "api_cpu_s": done["api_cpu"],
            }
        ]
    finally:
        peer.end()


def latency(name, spec, args):
    peer = Peer(name, spec, "latency", N=args.n)
    rows = []
    try:
        peer.wait("all_reconciled", args.limit)
        time.sleep(7)
        peer.ask(signal.SIGUSR2, "latency")
        for rate in args.rates:
            before, api = cpu(peer.pid), cpu(apiserver())
            wrote = tool("write", "-n", args.n, "-rate", rate, "-span", f"{args.span}s")
            time.sleep(1.5)
            used, api = cpu(peer.pid) - before, cpu(apiserver()) - api
            got = peer.ask(signal.SIGUSR2, "latency")
            rows.append(
                {
                    "rate": rate,
                    "written": wrote["count"],
                    "failed": wrote["failed"],
                    "true_rate": wrote["rate"],
                    "patch_p50_ms": wrote["p50_ms"],
                    "patch_p99_ms": wrote["p99_ms"],
                    "seen": got["count"],
                    "p50_ms": got["p50_ms"],
                    "p90_ms": got["p90_ms"],
                    "p99_ms": got["p99_ms"],
                    "max_ms": got["max_ms"],
                    "cpu_ms_per_event": 1000 * used / wrote["count"],
                    "api_cpu_s": api,
                    "rss_mib": memory(peer.pid) / MIB,
                }
            )
        return rows
    finally:
        peer.end()


def work(name, spec, args):
    tool("clear")
    tool("populate", "-n", args.n)
    before = tool("requests")["requests"]
    watch = subprocess.Popen(
        [os.environ["BIN"] + "/benchtool", "ready", "-n", str(args.n), "-span", f"{args.limit}s"],
        stdout=subprocess.PIPE,
    )
    watch.stdout.readline()
    peer = Peer(name, spec, "work", N=args.n)
    try:
        got = json.loads(watch.stdout.readline())
        used, peak = cpu(peer.pid), memory(peer.pid, "VmHWM")
        time.sleep(3)
        late = cpu(peer.pid)
        after = tool("requests")["requests"]
        delta = {k: v - before.get(k, 0) for k, v in after.items() if v != before.get(k, 0)}
        mine = {
            k: int(v)
            for k, v in delta.items()
            if k.split()[-1].split("/")[0] in ("widgets", "configmaps", "events")
            and k.split()[0] not in ("LIST", "WATCH")
        }
        return [
            {
                "ready": got["ready"],
                "all_ready_s": (got["last_t"] - peer.began) / 1e9,
                "work_s": (got["last_t"] - got["first_t"]) / 1e9,
                "cpu_s": used,
                "cpu_late_s": late,
                "peak_mib": peak / MIB,
                "requests": sum(mine.values()),
                "by_kind": mine,
            }
        ]
    finally:
        peer.end()
        watch.wait()


def takeover(name, spec, args):
    """Of a peer without a leader, which kills parts of itself and tells how long their keys were nobody's."""
    peer = Peer(name, spec, "failover", REPEATS=args.repeats, N=0)
    rows = []
    try:
        while True:
            event = peer.wait("takeover", 180)
            before = sum(row["how"] == event["how"] for row in rows)
            rows.append({"round": before} | {k: event[k] for k in ("how", "seconds", "all_s", "keys")})
    except (RuntimeError, TimeoutError):
        return rows or [{"error": "no takeover was told"}]
    finally:
        peer.end()


def failover(name, spec, args):
    if spec.get("leaderless"):
        return takeover(name, spec, args)
    rows = []
    number = iter(range(1000))

    def replica():
        i = next(number)
        return Peer(name, spec, "failover", LEASE_NAME=f"bench-{name}", IDENTITY=f"{name}-{i}", PRIORITY=1000 - i, N=0)

    leader = replica()
    standby = None
    try:
        leader.wait("first_reconcile", 120)
        for how in [signal.SIGKILL] * args.repeats + [signal.SIGTERM] * args.repeats:
            standby = replica()
            time.sleep(random.uniform(4, 8))
            at = time.time_ns()
            leader.process.send_signal(how)
            first = standby.wait("first_reconcile", 180)
            rows.append(
                {
                    "round": sum(row["how"] == how.name for row in rows),
                    "how": how.name,
                    "seconds": (first["t"] - at) / 1e9,
                    "leading_s": (standby.events.get("leading", first)["t"] - at) / 1e9,
                }
            )
            leader.end(signal.SIGKILL)
            leader, standby = standby, None
        return rows
    finally:
        for p in (leader, standby):
            if p:
                p.end(signal.SIGKILL)


def ceiling(name, spec, args):
    peer = Peer(name, spec, "queue", KEYS=args.keys)
    rows = []
    try:
        while True:
            event = peer.wait("queue", 120)
            busy = event["enqueue_cpu_s"] + event["drain_cpu_s"]
            rows.append(
                {k: event[k] for k in ("what", "keys", "enqueue_s", "drain_s", "enqueue_cpu_s", "drain_cpu_s")}
                | {
                    "keys_per_s": event["keys"] / event["drain_s"],
                    "keys_per_core_s": event["keys"] / event["drain_cpu_s"],
                    "keys_per_core_s_both": event["keys"] / busy,
                }
            )
    except (RuntimeError, TimeoutError):
        return rows
    finally:
        peer.end()


PHASES = {"sync": sync, "latency": latency, "work": work, "failover": failover, "queue": ceiling}


def measure(phase, name, spec, args, round_, sink):
    load = os.getloadavg()[0]
    try:
        rows = PHASES[phase](name, spec, args)
    except (TimeoutError, RuntimeError, KeyError) as e:
        rows = [{"error": str(e)}]
    for row in rows:
        row = {"phase": phase, "peer": name, "round": round_, "n": args.n, "load1": round(load, 2)} | row
        with sink:
            print(json.dumps(row), flush=True)
            with open(LAB / "results.jsonl", "a") as f:
                f.write(json.dumps(row) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("phase", choices=PHASES)
    parser.add_argument("--n", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--first-round", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--keys", type=int, default=200000)
    parser.add_argument("--span", type=int, default=30)
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--rates", type=lambda s: [int(x) for x in s.split(",")], default=[50, 200, 500])
    parser.add_argument("--peers", default="")
    args = parser.parse_args()
    peers = tomllib.loads((HERE / "peers.toml").read_text())
    chosen = [p for p in (args.peers.split(",") if args.peers else peers) if args.phase in peers[p]["workloads"]]
    sink = threading.Lock()
    if args.phase == "failover":
        # Failover is waiting, so all peers wait together; each has a lease of its own.
        threads = [threading.Thread(target=measure, args=(args.phase, p, peers[p], args, 0, sink)) for p in chosen]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return
    for r in range(args.first_round, args.first_round + args.rounds):
        turn = r % len(chosen)
        for p in chosen[turn:] + chosen[:turn]:
            measure(args.phase, p, peers[p], args, r, sink)


main()
