"""`fleet dev` as a user runs it: a worker and the coordinator are killed, and `fleet status` is asked all the while."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fleet.devcluster.evidence.verdict import HELD, Verdict
from fleet.devcluster.judging.judge import judge
from fleet.devcluster.judging.report import read_journals
from shards.clock import boot_seconds
from tests.integration.pods import FLEET, ROOT
from tests.integration.waiting import wait_for

WEBSITES = f"{ROOT}/docs/examples/websites.py:websites"
DEV_SECONDS = 120.0


@dataclass
class Said:
    """What one `fleet status -o json` said. began, ended: boot-clock seconds around it."""

    began: float
    ended: float
    status: dict[str, Any]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A runtime directory of its own, so that no other `fleet dev` is found."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return tmp_path


@pytest.fixture(autouse=True)
def usual_signals() -> Iterator[None]:
    """Children get the signals of a terminal, whoever started the tests: nohup, for one, ignores SIGHUP."""
    before = {signum: signal.signal(signum, signal.SIG_DFL) for signum in (signal.SIGHUP, signal.SIGTERM)}
    before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


def start_dev(*options: str) -> subprocess.Popen[bytes]:
    command = [FLEET, "dev", WEBSITES, "--workers", "4", "--shards", "16", "--json", *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ.copy())


def report_of(dev: subprocess.Popen[bytes]) -> dict[str, Any]:
    out, _ = dev.communicate(timeout=DEV_SECONDS)
    assert dev.returncode == 0, out
    report: dict[str, Any] = msgspec.json.decode(out)
    return report


def ask_status() -> Said | None:
    """None while there is no fleet to ask about."""
    began = boot_seconds()
    done = subprocess.run([FLEET, "status", "-o", "json"], capture_output=True, timeout=30, check=False)
    return Said(began, boot_seconds(), msgspec.json.decode(done.stdout)) if done.returncode == 0 else None


def verdict_at(server: str) -> Verdict:
    with urllib.request.urlopen(f"{server}/-/verdict", timeout=10) as answer:
        return msgspec.json.decode(answer.read(), type=Verdict)


def test_the_main_job_with_a_worker_and_the_coordinator_killed(home: Path) -> None:
    journals = home / "journals"
    kills = ("--kill", "worker@4s", "--kill", "coordinator@6s")
    dev = start_dev("--objects", "500", "--until-settled", *kills, "--journal", str(journals))
    report = report_of(dev)
    assert (report["objects"], report["reconciled"], report["children"]) == (500, 500, 1000)
    assert report["duplicate_child_posts"] == report["duplicate_status_writes"] == 0
    assert report["overlap_violations"] == report["writes_after_release"] == report["unattributed_writes"] == 0
    assert report["takeovers"] == 4
    assert report["max_unowned_seconds"] < 2
    [worker, coordinator] = report["takeover_seconds"]
    assert worker["owned_seconds"] < 2
    assert worker["first_reconcile_seconds"] < 2
    assert coordinator["ranges"] == 0
    assert not list(home.glob("fleet-*/*")), "the run directory is gone"
    verdict = judge(*read_journals([journals]))
    assert [finding for each in verdict.broken_invariants for finding in each.findings] == []
    held = {each.id for each in verdict.invariants if each.outcome == HELD}
    assert {"I1", "I2", "I3", "I4", "I7", "I8", "I9", "I11", "I13", "I14", "I15", "I16", "I27"} <= held
    assert not verdict.partial


def test_status_tells_the_truth_while_a_worker_and_the_coordinator_die(home: Path) -> None:
    dev = start_dev("--objects", "100", "--for", "12", "--kill", "worker@3s", "--kill", "coordinator@6s")
    heard: list[Said] = []
    verdict = Verdict()
    while dev.poll() is None:
        said = ask_status()
        later = _latest(home)
        if said is not None and later is not None and said.status["shards"]:
            # What was said while the fleet was ending, and no record came after it, cannot be judged.
            heard.append(said)
            verdict = later
        assert len(heard) < 1000
    report_of(dev)
    assert len(heard) > 5
    assert any(not said.status["unowned"] for said in heard)
    for said in heard:
        _agrees(said, verdict)


def _latest(home: Path) -> Verdict | None:
    states = [msgspec.json.decode(file.read_bytes()) for file in home.glob("fleet-*/dev-*/dev.json")]
    try:
        return verdict_at(states[0]["server"]) if states else None
    except OSError:
        return None  # it is ending


def _agrees(said: Said, verdict: Verdict) -> None:
    """Every owner that was shown held that range, at that epoch, at some moment of the asking; a range that had one
    owner all the time, and whose member did not begin anew, was shown with it."""
    for row in said.status["shards"]:
        held = [
            span
            for span in verdict.timeline.get(row["range"], [])
            if span.claimed_at <= said.ended and (span.ended_at is None or span.ended_at >= said.began)
        ]
        shown = f"{row['owner']}@{row['ownerEpoch']}" if row["owner"] else ""
        assert shown in ("", *(span.holder for span in held)), f"{shown} was shown, {held} held it: {row}"
        gaps = [gap for gap in verdict.gaps if gap.range == row["range"]]
        whole = not any(
            gap.began_at <= said.ended and (gap.ended_at is None or gap.ended_at >= said.began) for gap in gaps
        )
        if len(held) == 1 and whole and held[0].claimed_at < said.began:
            assert shown == held[0].holder, f"{held[0]} lasted all the time of {said.began}..{said.ended}: {row}"


def when_all_is_owned() -> Said | None:
    """None until every shard has an owner."""
    said = ask_status()
    return said if said is not None and said.status["shards"] and not said.status["unowned"] else None


def test_ctrl_c_ends_everything_and_leaves_nothing_behind(home: Path) -> None:
    dev = start_dev("--objects", "20")
    said = wait_for(when_all_is_owned, what="the fleet starts")
    pids = [member["pid"] for member in said.status["members"]]
    dev.send_signal(2)
    report_of(dev)
    assert not list(home.glob("fleet-*/*"))
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()


def test_a_demo_object_that_is_deleted_meanwhile_is_not_waited_for(home: Path) -> None:
    dev = start_dev("--objects", "20")
    server = server_of(home)
    site = f"{server}/apis/demo.shardfleet.dev/v1/namespaces/demo/websites/site-0"
    until_answers(urllib.request.Request(site, method="DELETE"))
    wait_for(
        lambda: (said := when_all_is_owned()) and sum(m["objects"] for m in said.status["members"]) == 19,
        what="19 objects are looked after",
    )
    dev.send_signal(signal.SIGINT)
    report = report_of(dev)
    assert (report["objects"], report["reconciled"], report["settled"]) == (19, 19, True)


def server_of(home: Path) -> str:
    """Where a `fleet dev` that has just been started serves."""
    states = wait_for(lambda: list(home.glob("fleet-*/dev-*/dev.json")), what="fleet dev runs")
    state: dict[str, str] = msgspec.json.decode(states[0].read_bytes())
    return state["server"]


def until_answers(request: urllib.request.Request) -> None:
    """Sends it until the object is there."""

    def answered() -> bool:
        try:
            with urllib.request.urlopen(request, timeout=10):
                return True
        except urllib.error.HTTPError as error:
            if error.code != 404:
                raise
            return False

    wait_for(answered, what="the object is made")


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_that_comes_before_the_fleet_runs_leaves_nothing_behind(home: Path, signum: signal.Signals) -> None:
    dev = start_dev()
    wait_for(lambda: list(home.glob("fleet-*/dev-*")), what="it starts")
    dev.send_signal(signum)
    dev.communicate(timeout=30)
    assert dev.returncode == 130
    assert not list(home.glob("fleet-*/*"))


def test_what_is_not_settled_is_named_with_the_reason(home: Path) -> None:
    for name in ("websites.py", "websites_demo.py", "websites-crd.yaml"):
        shutil.copy(f"{ROOT}/docs/examples/{name}", home)
    source = home / "websites.py"
    failing = '    if request.name == "site-3":\n        raise ValueError("no page")\n'
    source.write_text(
        source.read_text().replace("    site = ctx.store.get()\n", f"    site = ctx.store.get()\n{failing}")
    )
    command = [FLEET, "dev", f"{source}:websites", "--until-settled", "--timeout", "6"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "fleet: not settled after 6 seconds\n")
    lines = done.stdout.splitlines()
    assert lines[1].startswith("log ")
    assert any(line.startswith("19 of 20 objects are settled; ") for line in lines)
    [where] = [i for i, line in enumerate(lines) if line == "not settled: demo/site-3"]
    assert "websites demo/site-3 failed" in lines[where + 1]
    assert lines[where + 1].endswith("ValueError('no page')")


def test_a_key_that_keeps_failing_is_shown_with_its_owner_and_its_place(home: Path) -> None:
    for name in ("websites.py", "websites_demo.py", "websites-crd.yaml"):
        shutil.copy(f"{ROOT}/docs/examples/{name}", home)
    source = home / "websites.py"
    failing = '    if request.name == "site-3":\n        raise ValueError("the password is s3cr3t")\n'
    source.write_text(
        source.read_text().replace("    site = ctx.store.get()\n", f"    site = ctx.store.get()\n{failing}")
    )
    command = [FLEET, "dev", f"{source}:websites", "--for", "60"]
    dev = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ.copy())
    try:
        told = wait_for(_failing_keys, what="a key that keeps failing is reported", within_seconds=40)
        [row] = told["failing"]
        assert (row["key"], row["controller"], row["terminal"]) == ("demo/site-3", "websites", False)
        assert row["error"].startswith("ValueError at websites.py:")
        plain = subprocess.run([FLEET, "status"], capture_output=True, text=True, timeout=30, check=True).stdout
        assert "1 key keeps failing: --failing" in plain.splitlines()[0]
        assert "s3cr3t" not in plain + str(told)
    finally:
        dev.send_signal(signal.SIGINT)
        dev.wait(timeout=30)


def _failing_keys() -> dict[str, Any] | None:
    done = subprocess.run([FLEET, "status", "--failing", "-o", "json"], capture_output=True, timeout=30, check=False)
    said: dict[str, Any] = msgspec.json.decode(done.stdout) if done.returncode == 0 else {}
    return said if said.get("failing") else None
