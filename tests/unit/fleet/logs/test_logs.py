"""Logs of several processes through one."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from fleet.logs.logformat import encode_record
from fleet.logs.logrelay import LogRelay
from fleet.logs.logs import (
    LogReceiver,
    LogSettings,
    ReceiveHandler,
    StderrHandler,
    WorkerHandler,
    agent_logging,
    worker_logging,
)
from tests.unit.fleet.processes.processes import Forked, until

log = logging.getLogger("test")
SETTINGS = LogSettings()


class _Collected(logging.Handler):
    """Keeps what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.processName}: {record.getMessage()}")


def _record(message: str, *args: object) -> logging.LogRecord:
    record = logging.LogRecord("test", logging.INFO, __file__, 1, message, args, None)
    record.processName = "worker-0"
    return record


def test_lines_arrive_in_order_and_the_receiver_ends_with_its_writer() -> None:
    reader, writer = os.pipe()
    collected = _Collected()
    receiver = ReceiveHandler("worker-0", reader, collected)
    handler = WorkerHandler(writer)

    for i in range(500):
        handler.emit(_record("line %d", i))
    handler.close()

    until(lambda: not receiver.alive)
    assert collected.lines == [f"worker-0: line {i}" for i in range(500)]
    receiver.close()


def test_a_torn_line_at_the_end_is_left_out_and_ends_the_receiver() -> None:
    reader, writer = os.pipe()
    collected = _Collected()
    receiver = ReceiveHandler("worker-0", reader, collected)

    os.write(writer, encode_record(_record("whole")) + encode_record(_record("torn"))[:20])
    os.close(writer)

    until(lambda: not receiver.alive)
    assert collected.lines == ["worker-0: whole"]
    receiver.close()


def test_a_reader_that_starts_in_the_middle_of_a_line_finds_the_next_one() -> None:
    reader, writer = os.pipe()
    collected = _Collected()
    os.write(writer, encode_record(_record("half of it was read by a killed agent"))[30:])
    os.write(writer, encode_record(_record("whole")))
    os.close(writer)

    receiver = ReceiveHandler("worker-0", reader, collected)

    until(lambda: not receiver.alive)
    assert collected.lines == ["worker-0: a damaged log line was left out", "worker-0: whole"]
    receiver.close()


def test_without_a_reader_nobody_waits_and_the_dropped_lines_are_counted() -> None:
    reader, writer = os.pipe()
    handler = WorkerHandler(writer, capacity=10)

    for _ in range(5000):
        handler.emit(_record("x" * 1000))

    assert handler.dropped > 4000
    collected = _Collected()
    receiver = ReceiveHandler("worker-0", reader, collected)
    handler.close()
    until(lambda: not receiver.alive)
    notices = re.findall(r"(\d+) log lines were dropped", "\n".join(collected.lines))
    assert sum(map(int, notices)) == handler.dropped
    assert len(collected.lines) == 5000 - handler.dropped + len(notices)
    receiver.close()


def test_an_exception_arrives_as_text() -> None:
    reader, writer = os.pipe()
    stderr = StderrHandler("text")
    stderr.setStream(io.StringIO())
    receiver = ReceiveHandler("worker-0", reader, stderr)
    handler = WorkerHandler(writer)
    logger = logging.Logger("test")
    logger.addHandler(handler)

    try:
        raise RuntimeError("why")
    except RuntimeError:
        logger.exception("failed %s", object)
    handler.close()

    until(lambda: not receiver.alive)
    assert "failed <class 'object'>" in stderr.stream.getvalue()
    assert "RuntimeError: why" in stderr.stream.getvalue()
    receiver.close()


@contextlib.contextmanager
def _receiver(relay: LogRelay, collected: _Collected) -> Iterator[LogReceiver]:
    """An agent in this process."""
    receiver = LogReceiver(socket.socket(fileno=os.dup(relay.socket_for_agent())), collected)
    relay.after_fork()
    yield receiver
    receiver.close()


def test_an_agent_is_given_the_pipes_of_living_and_dead_workers() -> None:
    relay, collected = LogRelay(), _Collected()
    for label in ("dead#1", "living#1"):
        handler = WorkerHandler(os.dup(relay.pipe_for(label)))
        relay.after_fork()
        handler.emit(_record(label))
        handler.close()
    relay.worker_ended("dead#1")

    with _receiver(relay, collected):
        pass

    assert sorted(collected.lines) == ["worker-0: dead#1", "worker-0: living#1"]
    relay.close()


def test_the_relay_gives_back_every_descriptor() -> None:
    before = len(os.listdir("/proc/self/fd"))
    relay, collected = LogRelay(), _Collected()
    with _receiver(relay, collected):
        for i in range(20):
            relay.pipe_for(f"worker#{i}")
            relay.after_fork()
            relay.worker_ended(f"worker#{i}")
        relay.agent_ended()
    relay.close()

    assert len(os.listdir("/proc/self/fd")) == before


def _pod(relay: LogRelay, workers: dict[str, Callable[[], None]], *, victim: str, kill_now: int, killed: int) -> int:
    """A parent that forks an agent and workers and waits for them.

    After a byte from `kill_now` it kills and reaps the victim, and says so with a byte to `killed`.
    """

    def child(main: Callable[[], None]) -> int:
        if (pid := os.fork()) == 0:
            with contextlib.suppress(BaseException):
                relay.in_child()
                main()
            os._exit(0)
        relay.after_fork()
        return pid

    def agent(fd: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        with agent_logging(fd, "agent", SETTINGS):
            signal.sigwait({signal.SIGTERM})

    fd = relay.socket_for_agent()
    agent_pid = child(lambda: agent(fd))
    pids = {}
    for name, main in workers.items():
        fd = relay.pipe_for(name)

        def worker(fd: int = fd, name: str = name, main: Callable[[], None] = main) -> None:
            with worker_logging(fd, name, SETTINGS):
                main()

        pids[name] = child(worker)
    os.read(kill_now, 1)
    os.kill(pids[victim], signal.SIGKILL)
    os.waitpid(pids.pop(victim), 0)
    relay.worker_ended(victim)
    os.write(killed, b".")
    for name, pid in pids.items():
        os.waitpid(pid, 0)
        relay.worker_ended(name)
    os.kill(agent_pid, signal.SIGTERM)
    os.waitpid(agent_pid, 0)
    return 0


def test_killing_one_worker_in_the_middle_of_a_line_does_not_stop_the_lines_of_another() -> None:
    """The victim writes huge records without pause; the survivor logs before and after its death and loses nothing."""
    kill_reader, kill_writer = os.pipe()
    killed_reader, killed_writer = os.pipe()

    def victim() -> None:
        while True:
            log.info("victim %s", "v" * 30_000)

    def survivor() -> None:
        for i in range(1000):
            log.info("survivor line %d.", i)
            if i == 500:
                os.read(killed_reader, 1)

    workers = {"victim": victim, "survivor": survivor}
    relay = LogRelay()
    with Forked(lambda: _pod(relay, workers, victim="victim", kill_now=kill_reader, killed=killed_writer)) as pod:
        pod.output_until(lambda text: "survivor line 500." in text and "victim vvv" in text)
        os.write(kill_writer, b".")
        output = pod.output()

    for fd in (kill_reader, kill_writer, killed_reader, killed_writer):
        os.close(fd)
    assert re.findall(r"INFO    survivor test: survivor line (\d+)\.\n", output) == [str(i) for i in range(1000)]
    assert all(len(line) > 30_000 for line in output.splitlines() if "victim vvv" in line)


def test_no_thread_is_started_in_the_parent() -> None:
    before = threading.active_count()
    relay = LogRelay()
    relay.socket_for_agent()
    relay.after_fork()
    relay.pipe_for("worker-0#1")

    assert threading.active_count() == before
    relay.close()


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_lines_on_stderr_are_never_mixed(log_format: str) -> None:
    stream = io.StringIO()
    handler = StderrHandler("json" if log_format == "json" else "text")
    handler.setStream(stream)
    pipes = [os.pipe() for _ in range(4)]
    receivers = [ReceiveHandler(f"worker-{i}", reader, handler) for i, (reader, _) in enumerate(pipes)]
    for _, writer in pipes:
        worker = WorkerHandler(writer)
        for i in range(200):
            worker.emit(_record("line %d end", i))
        worker.close()

    until(lambda: not any(each.alive for each in receivers))

    lines = stream.getvalue().splitlines()
    assert len(lines) == 800
    assert all(re.search(r"line \d+ end(\"\})?$", line) for line in lines)
    for receiver in receivers:
        receiver.close()
