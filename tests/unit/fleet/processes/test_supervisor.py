"""The parent of a pod's processes, with real forks and real signals."""

from __future__ import annotations

import ctypes
import faulthandler
import logging
import os
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from fleet.logs.logs import LogSettings, log_to_stderr
from fleet.processes.children import CHILDREN_FILE, read_children
from fleet.processes.exitcodes import EX_CONFIG
from fleet.processes.supervisor import ChildSpec, ChildStart, Supervisor
from shards.clock import boot_seconds
from shards.errors import ConfigError
from shards.objects import Key
from tests.unit.fleet.processes.processes import Forked, gone, until


def _say(start: ChildStart, words: str) -> None:
    """Straight to stderr: these children have no logging of their own."""
    os.write(2, f"[{start.name}#{start.count} {words}]\n".encode())


def _wait_for_term(start: ChildStart, words: str = "up", code: int = 0) -> int:
    """A well-behaved child: says that it is up, waits for SIGTERM, says that it ends."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    _say(start, words)
    signal.sigwait({signal.SIGTERM})
    _say(start, "ends")
    return code


def _worker(name: str, main: Callable[[ChildStart], int] = _wait_for_term, *, restart: bool = True) -> ChildSpec:
    return ChildSpec(name, slot=int(name[-1]), main=main, restart=restart)


def _agent(main: Callable[[ChildStart], int] = _wait_for_term) -> ChildSpec:
    return ChildSpec("agent", slot=0, main=main, agent=True)


def _supervised(
    run_dir: Path, *children: ChildSpec, grace_seconds: float = 10.0, logs: LogSettings | None = None
) -> Forked:
    def main() -> int:
        log_to_stderr(LogSettings())
        return Supervisor(
            children, supervisor_id="pod-uid/nonce", run_dir=run_dir, grace_seconds=grace_seconds, logs=logs
        ).run()

    return Forked(main)


def _counts(run_dir: Path) -> dict[str, int]:
    """The published list is written after the fork, so it may lag behind what a child says."""
    return {name: record.count for name, record in read_children(run_dir).items()}


def _pid(run_dir: Path, name: str, count: int = 1) -> int:
    until(lambda: _counts(run_dir).get(name) == count, f"{name}#{count}")
    return read_children(run_dir)[name].pid


def test_sigterm_ends_the_workers_first_and_the_agent_last(tmp_path: Path) -> None:
    with _supervised(tmp_path, _agent(), _worker("worker-0"), _worker("worker-1")) as pod:
        pod.output_until(lambda text: text.count(" up]") == 3)
        until(lambda: _counts(tmp_path) == {"agent": 1, "worker-0": 1, "worker-1": 1})

        pod.send(signal.SIGTERM)

        assert pod.exit_code() == 0
        ends = re.findall(r"\[(\S+)#1 ends\]", pod.output())
        assert sorted(ends[:2]) == ["worker-0", "worker-1"]
        assert ends[2:] == ["agent"]
    assert read_children(tmp_path) == {}


def test_a_killed_child_is_running_again_and_knows_that_its_predecessor_was_reaped(tmp_path: Path) -> None:
    def main(start: ChildStart) -> int:
        return _wait_for_term(start, f"up reaped={start.reaped_predecessor} id={start.supervisor_id}")

    with _supervised(tmp_path, _worker("worker-0", main)) as pod:
        pod.output_until(lambda text: "[worker-0#1 up reaped=False id=pod-uid/nonce]" in text)
        first = _pid(tmp_path, "worker-0")

        os.kill(first, signal.SIGKILL)

        output = pod.output_until(lambda text: "[worker-0#2 up reaped=True id=pod-uid/nonce]" in text)
        assert "worker-0 ended after" in output
        assert "(SIGKILL), starts again in 0.0 s" in output
        assert _pid(tmp_path, "worker-0", count=2) != first
        pod.send(signal.SIGTERM)
        assert pod.exit_code() == 0


def test_what_a_killed_worker_left_in_its_process_group_dies_before_it_is_started_again(tmp_path: Path) -> None:
    def main(start: ChildStart) -> int:
        if start.count == 1 and (grandchild := os.fork()):
            (start.run_dir / "grandchild").write_text(str(grandchild))
        if start.count == 2:
            left = int((start.run_dir / "grandchild").read_text())
            return _wait_for_term(start, f"up grandchild gone={gone(left)} reaped={start.reaped_predecessor}")
        return _wait_for_term(start)

    with _supervised(tmp_path, _worker("worker-0", main)) as pod:
        pod.output_until(lambda text: text.count("[worker-0#1 up]") == 2)

        os.kill(_pid(tmp_path, "worker-0"), signal.SIGKILL)

        pod.output_until(lambda text: "[worker-0#2 up grandchild gone=True reaped=True]" in text)
        pod.send(signal.SIGTERM)
        assert pod.exit_code() == 0


def test_a_descendant_that_left_the_group_costs_the_successor_its_short_cut(tmp_path: Path) -> None:
    def main(start: ChildStart) -> int:
        if start.count == 1 and os.fork() == 0:
            os.setsid()
            (start.run_dir / "daemon").write_text(str(os.getpid()))
        return _wait_for_term(start, f"up reaped={start.reaped_predecessor}")

    with _supervised(tmp_path, _worker("worker-0", main)) as pod:
        pod.output_until(lambda text: text.count("[worker-0#1 up") == 2)

        os.kill(_pid(tmp_path, "worker-0"), signal.SIGKILL)

        pod.output_until(lambda text: "[worker-0#2 up reaped=False]" in text)
        os.kill(int((tmp_path / "daemon").read_text()), signal.SIGKILL)
        pod.send(signal.SIGTERM)
        assert pod.exit_code() == 0


def test_no_child_survives_a_killed_supervisor(tmp_path: Path) -> None:
    with _supervised(tmp_path, _agent(), _worker("worker-0")) as pod:
        pod.output_until(lambda text: text.count(" up]") == 2)
        pids = [_pid(tmp_path, "agent"), _pid(tmp_path, "worker-0")]

        pod.send(signal.SIGKILL)

        until(lambda: all(gone(pid) for pid in pids), pids)


def test_a_wrong_setting_ends_the_pod_with_one_sentence(tmp_path: Path) -> None:
    def refuse(_: ChildStart) -> int:
        raise ConfigError("shards.count", "must be at least 1")

    with _supervised(tmp_path, _agent(), _worker("worker-0", refuse), _worker("worker-1", refuse)) as pod:
        assert pod.exit_code() == EX_CONFIG
        assert pod.output().count("shards.count: must be at least 1") == 1
        assert "starts again" not in pod.output()


def test_an_error_in_a_child_is_logged_and_the_child_started_again(tmp_path: Path) -> None:
    def main(start: ChildStart) -> int:
        if start.count == 1:
            raise RuntimeError("a fault of the author's module")
        return _wait_for_term(start)

    with _supervised(tmp_path, _agent(), _worker("worker-0", main), logs=LogSettings()) as pod:
        output = pod.output_until(lambda text: "[worker-0#2 up]" in text and "author's module" in text)
        assert "exit code 70" in output
        pod.send(signal.SIGTERM)
        assert pod.exit_code() == 0


def test_a_child_that_does_not_end_in_time_is_killed_and_the_exit_code_says_so(tmp_path: Path) -> None:
    def stubborn(start: ChildStart) -> int:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _say(start, "up")
        threading.Event().wait()
        return 0

    with _supervised(tmp_path, _agent(), _worker("worker-0", stubborn), grace_seconds=0.2) as pod:
        pod.output_until(lambda text: text.count(" up]") == 2)

        pod.send(signal.SIGTERM)

        assert pod.exit_code() == 128 + signal.SIGKILL
        assert "worker-0 did not end within 0.2 s: killed" in pod.output()
        assert "[agent#1 ends]" in pod.output()


def test_a_second_signal_kills_at_once(tmp_path: Path) -> None:
    def stubborn(start: ChildStart) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        _say(start, "up")
        signal.sigwait({signal.SIGTERM})
        _say(start, "told")
        threading.Event().wait()
        return 0

    with _supervised(tmp_path, _agent(), _worker("worker-0", stubborn), grace_seconds=3600.0) as pod:
        pod.output_until(lambda text: text.count(" up]") == 2)
        pod.send(signal.SIGINT)
        pod.output_until(lambda text: "told]" in text)

        pod.send(signal.SIGINT)

        assert pod.exit_code() == 128 + signal.SIGINT


def test_sighup_changes_nothing(tmp_path: Path) -> None:
    with _supervised(tmp_path, _worker("worker-0")) as pod:
        pod.output_until(lambda text: "[worker-0#1 up]" in text)

        pod.send(signal.SIGHUP)
        pod.send(signal.SIGTERM)

        assert pod.exit_code() == 0


def test_an_exit_code_of_a_draining_worker_is_passed_on(tmp_path: Path) -> None:
    def main(start: ChildStart) -> int:
        return _wait_for_term(start, code=80)

    with _supervised(tmp_path, _worker("worker-0", main), _worker("worker-1")) as pod:
        pod.output_until(lambda text: text.count(" up]") == 2)
        pod.send(signal.SIGTERM)

        assert pod.exit_code() == 80


def test_children_with_a_natural_end_end_the_supervisor(tmp_path: Path) -> None:
    with _supervised(
        tmp_path,
        _worker("worker-0", lambda _: 0, restart=False),
        _worker("worker-1", lambda _: 3, restart=False),
    ) as pod:
        assert pod.exit_code() == 3


def test_a_frozen_child_past_its_deadline_is_killed_and_replaced(tmp_path: Path) -> None:
    """SIGSTOP stands for a C extension that keeps the interpreter lock: the watchdog's thread stands still too."""

    def main(start: ChildStart) -> int:
        if start.count == 1:
            start.heartbeat.beat(boot_seconds(), boot_seconds() + 0.2)
            _say(start, "up")
            os.kill(os.getpid(), signal.SIGSTOP)
        return _wait_for_term(start)

    with _supervised(tmp_path, _worker("worker-0", main)) as pod:
        output = pod.output_until(lambda text: "[worker-0#2 up]" in text)

        assert "is past its deadline: killed" in output
        pod.send(signal.SIGTERM)
        assert pod.exit_code() == 0


def test_children_have_ordinary_signals_their_own_session_and_a_death_signal(tmp_path: Path) -> None:
    def main(start: ChildStart) -> int:
        death = ctypes.c_int()
        ctypes.CDLL(None).prctl(2, ctypes.byref(death))  # PR_GET_PDEATHSIG
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        default = all(
            signal.getsignal(each) is signal.SIG_DFL
            for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
        )
        _say(start, f"{blocked=} {default=} leader={os.getsid(0) == os.getpid()} death={death.value}")
        return 0

    with _supervised(tmp_path, _worker("worker-0", main, restart=False)) as pod:
        assert f"[worker-0#1 blocked=set() default=True leader=True death={signal.SIGKILL:d}]" in pod.output()
        assert pod.exit_code() == 0


def test_the_logs_of_workers_go_on_through_the_next_agent_when_the_first_is_killed(tmp_path: Path) -> None:
    log = logging.getLogger("test")

    def agent(start: ChildStart) -> int:
        return _wait_for_term(start, f"agent up {start.count}")

    def main(start: ChildStart) -> int:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
        log.info("first line of %s", start.name)
        signal.sigwait({signal.SIGUSR1})
        log.info("second line of %s", start.name)
        signal.sigwait({signal.SIGTERM})
        for i in range(200):
            log.info("last words %d", i)
        return 0

    with _supervised(tmp_path, _agent(agent), _worker("worker-0", main), logs=LogSettings()) as pod:
        pod.output_until(lambda text: "worker-0 test: first line of worker-0" in text)
        os.kill(_pid(tmp_path, "agent"), signal.SIGKILL)
        pod.output_until(lambda text: "agent up 2" in text)

        os.kill(_pid(tmp_path, "worker-0"), signal.SIGUSR1)

        pod.output_until(lambda text: "worker-0 test: second line of worker-0" in text)
        pod.send(signal.SIGTERM)
        assert pod.exit_code() == 0
        assert pod.output().count("last words") == 200


def test_a_run_directory_that_vanishes_does_not_stop_the_supervisor(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    with _supervised(run_dir, _worker("worker-0")) as pod:
        pod.output_until(lambda text: "[worker-0#1 up]" in text)
        pid = _pid(run_dir, "worker-0")
        (run_dir / CHILDREN_FILE).unlink()
        run_dir.rmdir()

        os.kill(pid, signal.SIGKILL)

        pod.output_until(lambda text: "[worker-0#2 up]" in text)
        pod.send(signal.SIGTERM)
        assert pod.exit_code() == 0


def test_two_children_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="unique names"):
        Supervisor([_worker("worker-0"), _worker("worker-0")], supervisor_id="", run_dir=tmp_path, grace_seconds=1.0)


def test_the_next_incarnation_is_told_what_was_in_flight_until_one_has_counted_it(tmp_path: Path) -> None:
    def main(start: ChildStart) -> int:
        flights = start.flights
        assert flights is not None
        told = [(death.ended, death.words, [f.key.name for f in death.flights]) for death in start.deaths]
        _say(start, f"deaths={told}")
        if start.count == 1:
            flights.begins("websites", Key("default", "poison", "u1"), 1, 1.0)
            start.heartbeat.say("blocked")
            faulthandler.disable()  # pytest's, which would write where the tests' results are
            ctypes.string_at(0)
        if start.count == 2:
            flights.begins("websites", Key("default", "other", "u2"), 1, 1.0)
            os._exit(0)
        if start.count == 3:
            flights.counted()
            os.kill(os.getpid(), signal.SIGKILL)
        return _wait_for_term(start)

    with _supervised(tmp_path, _worker("worker-0", main)) as pod:
        output = pod.output_until(lambda text: "#4 up]" in text)
        assert "[worker-0#1 deaths=[]]" in output
        assert "[worker-0#2 deaths=[('SIGSEGV', 'blocked', ['poison'])]]" in output
        assert "[worker-0#3 deaths=[('SIGSEGV', 'blocked', ['poison']), ('exit code 0', '', ['other'])]]" in output
        assert "[worker-0#4 deaths=[]]" in output
        pod.send(signal.SIGTERM)
        assert pod.exit_code() == 0
