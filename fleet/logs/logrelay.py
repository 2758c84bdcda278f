"""The parent's side of the log pipes (see `fleet.logs.logs`): makes them, keeps the reading ends, passes them on."""

from __future__ import annotations

import contextlib
import os
import socket

LABEL_BYTES_MAX = 256
_UNCLAIMED_PIPES_MAX = 64
"""Pipes of dead workers kept for the next agent; bounds the parent's descriptors when workers and agent crash."""


class LogRelay:
    """Pipes of living workers, and the socket of the agent of the day. No threads.

    Only one process reads a pipe at a time: a new agent is made known after the old one was reaped.
    """

    def __init__(self) -> None:
        self._readers: dict[str, int] = {}
        self._unclaimed: dict[str, int] = {}  # of dead workers that no living agent was told of
        self._agent: socket.socket | None = None
        self._for_child: int | None = None

    def pipe_for(self, label: str) -> int:
        """Before a worker is forked: the writing end for it. label: unique per incarnation."""
        reader, writer = os.pipe2(os.O_CLOEXEC)
        self._readers[label] = reader
        self._pass(label, reader)
        self._for_child = writer
        return writer

    def socket_for_agent(self) -> int:
        """Before an agent is forked: its end of a new socket, on which the pipes of all workers already wait."""
        self.agent_ended()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self._agent = ours
        self._for_child = theirs.detach()
        for label, reader in (self._unclaimed | self._readers).items():
            self._pass(label, reader)
        for reader in self._unclaimed.values():
            os.close(reader)
        self._unclaimed.clear()
        return self._for_child

    def _pass(self, label: str, reader: int) -> None:
        if self._agent is not None:
            # An agent that just died, or that takes nothing: its successor is told of every pipe anyway.
            with contextlib.suppress(OSError):
                socket.send_fds(self._agent, [label.encode()[:LABEL_BYTES_MAX]], [reader])

    def after_fork(self) -> None:
        """In the parent: the child's end is the child's alone, or its end of file would never come."""
        if self._for_child is not None:
            os.close(self._for_child)
            self._for_child = None

    def in_child(self) -> None:
        """In the child: everything but its own end is closed."""
        self._for_child = None
        self.close()

    def worker_ended(self, label: str) -> None:
        """The worker was reaped. What it wrote is the agent's to read, or waits for the next agent."""
        reader = self._readers.pop(label, None)
        if reader is None:
            return
        if self._agent is None and len(self._unclaimed) < _UNCLAIMED_PIPES_MAX:
            self._unclaimed[label] = reader
        else:
            os.close(reader)

    def agent_ended(self) -> None:
        if self._agent is not None:
            self._agent.close()
            self._agent = None

    def close(self) -> None:
        self.agent_ended()
        for reader in (*self._readers.values(), *self._unclaimed.values()):
            os.close(reader)
        self._readers.clear()
        self._unclaimed.clear()
        self.after_fork()
