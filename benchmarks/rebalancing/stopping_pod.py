"""`fleet run` whose workers stop themselves (SIGSTOP) around the first byte of a request of the kind that is asked for.

    python -m benchmarks.rebalancing.stopping_pod run --config ... --journal DIRECTORY

The product has no hook for it, so that it costs nothing there: in these processes the deadline check itself is another
one. $FAILPOINTS: a directory. A file `<kind>.armed` in it is taken by the first worker that is about to send such a
request, which writes `<kind>.<pid>.json` and stops. $FAILPOINT_WHERE: `before` the socket gets the request, between the
deadline check and the write; or `after` that.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

import msgspec

from benchmarks.rebalancing.quiet_pod import open_journal
from fleet import cli
from fleet.pod import worker_role
from shards.clock import boot_seconds
from shards.transport.attempt import Attempt
from shards.transport.exchange import Exchange, Opened

KINDS = {
    "status": re.compile(rb"PATCH \S+/parcels/\S+/status "),
    "create": re.compile(rb"POST \S+/configmaps "),
    "update": re.compile(rb"PUT \S+/configmaps/"),
    "delete": re.compile(rb"DELETE \S+/configmaps/"),
    "apply": re.compile(rb"PATCH \S+/configmaps/"),
    "shard Lease": re.compile(rb"PUT \S+/leases/\S+-shard-"),
    "member Lease": re.compile(rb"PUT \S+/leases/\S+-member-"),
}
"""By what begins the request."""

_AGENT = re.compile(rb"\r\nUser-Agent: ([^\r]*)")
_FLUSH_SECONDS = 0.1
"""After a write was given to the transport until it is in the socket."""


class Hit(msgspec.Struct, frozen=True):
    """A worker that stopped. at: boot-clock reading. user_agent: of the request, which names the incarnation."""

    kind: str
    pid: int
    at: float
    user_agent: str


def kind_of(head: bytes) -> str:
    """Of a write; "" for any other request."""
    return next((kind for kind, begins in KINDS.items() if begins.match(head)), "")


class StoppingAttempt(Attempt):
    """The check after which the request is written, and nothing is looked at any more."""

    __slots__ = ()

    def remaining(self) -> float:
        left = super().remaining()
        if self.sent:  # the connection is in hand: this is the last look
            self.__class__ = Attempt  # type: ignore[assignment]  # the same slots
            if os.environ.get("FAILPOINT_WHERE") == "after":
                asyncio.get_running_loop().call_later(_FLUSH_SECONDS, os.kill, os.getpid(), signal.SIGSTOP)
            else:
                os.kill(os.getpid(), signal.SIGSTOP)
        return left


def taken(head: bytes) -> bool:
    """Whether this worker is the one that stops at this request. Once a round: one that stops a second time, right
    after it was woken, is not woken again."""
    kind, directory = kind_of(head), Path(os.environ["FAILPOINTS"])
    if not kind or any(directory.glob(f"*.{os.getpid()}.taken")):
        return False
    mine = f"{kind}.{os.getpid()}"
    try:
        (directory / f"{kind}.armed").rename(directory / f"{mine}.taken")
    except FileNotFoundError:
        return False
    agent = _AGENT.search(head)
    hit = Hit(kind, os.getpid(), boot_seconds(), agent[1].decode() if agent is not None else "")
    (directory / f"{mine}.part").write_bytes(msgspec.json.encode(hit))
    (directory / f"{mine}.part").rename(directory / f"{mine}.json")
    return True


_once = Exchange._once


async def stopping_once(self: Exchange, attempt: Attempt, head: bytes, body: bytes | None) -> Opened:
    if taken(head):
        attempt.__class__ = StoppingAttempt
    return await _once(self, attempt, head, body)


if __name__ == "__main__":
    vars(worker_role)["open_journal"] = open_journal
    setattr(Exchange, "_once", stopping_once)  # noqa: B010  # mypy: a method is not assigned to
    sys.exit(cli.main())
