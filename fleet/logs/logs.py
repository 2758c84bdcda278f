"""Logs of all processes of a pod, through the agent; the door to multiprocessing_logging.

That library's own arrangement, one queue for all, loses everybody's lines when one process is killed while it writes.
Here every worker has a pipe of its own. The parent makes it before the fork, keeps the reading end and passes a copy
to the agent over a socket; the agent has one receiving thread per worker. So a killed worker takes down its own
receiver and nothing else, a restarted agent is given the pipes of all living workers, and the parent, which must stay
free of threads, reads nothing at all. While there is no agent, lines wait in the pipe and in the worker's queue; when
those are full lines are dropped and counted, and nobody waits.

    worker: logger -> WorkerHandler -> queue -> sender thread -> pipe
    parent: fleet.logs.logrelay keeps the pipes, passes reading ends
    agent:  LogReceiver -> one ReceiveHandler (thread) per pipe -> stderr

A worker that exits cleanly delivers every line. One that is killed loses what its queue still held, usually nothing.
An agent that is killed loses what it had read and not yet written.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import queue
import select
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from multiprocessing_logging import MultiProcessingHandler

from fleet.logs.logformat import RECORD_BYTES_MAX, LogFormat, decode_record, encode_record, formatter
from fleet.logs.logrelay import LABEL_BYTES_MAX

QUEUED_RECORDS_MAX = 10_000
"""Per worker; a few megabytes. A burst longer than this, written faster than the agent reads, is thinned."""
FLUSH_SECONDS = 2.0
"""How long a child that ends waits for its last lines to be taken."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    level: str = "INFO"
    format: LogFormat = "text"


class StderrHandler(logging.StreamHandler[Any]):
    """Whole lines on stderr. `emit` locks by itself: receiving threads call it directly, not through `handle`."""

    def __init__(self, log_format: LogFormat) -> None:
        super().__init__(sys.stderr)
        self.setFormatter(formatter(log_format))

    def emit(self, record: logging.LogRecord) -> None:
        self.acquire()
        try:
            super().emit(record)
        finally:
            self.release()


def log_to_stderr(settings: LogSettings) -> None:
    """What the supervisor, and any command without children, does with its own records."""
    _install(StderrHandler(settings.format), settings.level)


def _install(handler: logging.Handler, level: str) -> None:
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


class WorkerHandler(MultiProcessingHandler):  # type: ignore[misc]  # the library ships no types
    """The worker's end: `emit` (inherited) turns arguments and exception into text and queues the line.

    The base class's constructor is not called: it would start a receiving thread, and its queue has a lock that a
    killed process never gives back. dropped: lines that found the queue full.
    """

    def __init__(self, fd: int, log_format: LogFormat = "text", *, capacity: int = QUEUED_RECORDS_MAX) -> None:
        """fd: the writing end of this worker's pipe; closed by `close`."""
        logging.Handler.__init__(self)
        self.sub_handler = logging.NullHandler()
        self.setFormatter(formatter(log_format))
        self.dropped = 0
        # SimpleQueue, because emit may be entered again by a finalizer in the middle of its own put.
        self.queue: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._capacity = capacity
        self._fd = fd
        self._is_closed = False
        self._sender = threading.Thread(target=self._send_all, name="log-sender", daemon=True)
        self._sender.start()

    def _send(self, s: logging.LogRecord) -> None:
        if self.queue.qsize() >= self._capacity:
            self.dropped += 1
        else:
            self.queue.put(encode_record(s))

    def _send_all(self) -> None:
        reported = 0
        try:
            while (line := self.queue.get()) is not None:
                self._write(line)
                if self.queue.empty():
                    reported = self._report_dropped(reported)
            self._report_dropped(reported)
        except OSError:
            # No reader is left, not even the parent: there is nowhere to say so. What follows is dropped and counted.
            self._capacity = 0
        finally:
            os.close(self._fd)

    def _report_dropped(self, reported: int) -> int:
        """Once there is room again. reported: how many have been reported already; returns the new figure."""
        dropped = self.dropped
        if dropped > reported:
            message = f"{dropped - reported} log lines were dropped: the queue was full"
            self._write(encode_record(_notice(message, multiprocessing.current_process().name)))
        return dropped

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def close(self) -> None:
        """Delivers what is queued, waiting at most FLUSH_SECONDS."""
        if not self._is_closed:
            self._is_closed = True
            self.queue.put(None)
            self._sender.join(FLUSH_SECONDS)
            logging.Handler.close(self)


def dropped_lines() -> int:
    """Log lines of this process that found its queue full."""
    return sum(each.dropped for each in logging.getLogger().handlers if isinstance(each, WorkerHandler))


def _notice(message: str, process_name: str) -> logging.LogRecord:
    """A record of this machinery itself, in the name of the worker whose lines it is about."""
    record = logging.LogRecord(__name__, logging.WARNING, __file__, 0, message, None, None)
    record.processName = process_name
    return record


class _PipeQueue:
    """What a MultiProcessingHandler's receiving loop needs of a queue, on the reading end of a pipe."""

    def __init__(self, fd: int, name: str) -> None:
        self._fd = fd
        self._name = name
        self._lines: list[bytes] = []  # complete ones, newest first
        self._rest = b""
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)

    def get(self, timeout: float) -> logging.LogRecord:
        """Raises queue.Empty after `timeout` seconds, EOFError when the writer is gone."""
        while not self._lines:
            if not self._poll.poll(timeout * 1000):
                raise queue.Empty
            chunk = os.read(self._fd, 65536)
            # At the end a rest without newline is the torn line of a killed writer; an endless one is no log line.
            if not chunk or len(self._rest) > RECORD_BYTES_MAX:
                raise EOFError
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._lines = lines[::-1]
        return decode_record(self._lines.pop()) or self._damaged()

    def _damaged(self) -> logging.LogRecord:
        return _notice("a damaged log line was left out", self._name)

    def qsize(self) -> int:
        """Not the number of lines, but zero exactly when none is waiting."""
        return len(self._lines) or len(self._poll.poll(0))

    def close(self) -> None:
        os.close(self._fd)

    def join_thread(self) -> None:
        """There is no feeder thread on this side."""


class ReceiveHandler(MultiProcessingHandler):  # type: ignore[misc]  # the library ships no types
    """The agent's end of one worker's pipe. The receiving loop and `close` are the library's.

    The thread ends by itself when the worker is gone; `close` ends it when nothing is waiting.
    """

    def __init__(self, name: str, fd: int, sub_handler: logging.Handler) -> None:
        logging.Handler.__init__(self)
        self.sub_handler = sub_handler
        self.queue = _PipeQueue(fd, name)
        self._is_closed = False
        self._receive_thread = threading.Thread(target=self._receive, name=f"log-{name}", daemon=True)
        self._receive_thread.start()

    @property
    def alive(self) -> bool:
        return bool(self._receive_thread.is_alive())


class LogReceiver:
    """The agent's side: takes reading ends from the parent's socket and starts a receiver for each."""

    def __init__(self, source: socket.socket, sub_handler: logging.Handler) -> None:
        self._source = source
        self._sub_handler = sub_handler
        self._receivers: list[ReceiveHandler] = []
        self._thread = threading.Thread(target=self._accept, name="log-accept", daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            label, fds, _, _ = socket.recv_fds(self._source, LABEL_BYTES_MAX, 1)
            if not label:
                break
            self._receivers = [each for each in self._receivers if each.alive]
            self._receivers += [ReceiveHandler(label.decode(), fd, self._sub_handler) for fd in fds]

    def close(self) -> None:
        """Takes what the parent has already passed, then what the workers have already written."""
        self._source.shutdown(socket.SHUT_RD)
        self._thread.join(FLUSH_SECONDS)
        self._source.close()
        for receiver in self._receivers:
            receiver.close()


@contextlib.contextmanager
def worker_logging(fd: int, name: str, settings: LogSettings) -> Iterator[None]:
    """In a forked worker: its records go into the pipe `fd`. On leaving, the queued ones are delivered."""
    multiprocessing.current_process().name = name
    handler = WorkerHandler(fd, settings.format)
    _install(handler, settings.level)
    try:
        yield
    finally:
        handler.close()


@contextlib.contextmanager
def agent_logging(fd: int, name: str, settings: LogSettings) -> Iterator[None]:
    """In a forked agent: its own records and those of all workers go to stderr. On leaving, what waits is written."""
    multiprocessing.current_process().name = name
    stderr = StderrHandler(settings.format)
    _install(stderr, settings.level)
    receiver = LogReceiver(socket.socket(fileno=fd), stderr)
    try:
        yield
    finally:
        receiver.close()
