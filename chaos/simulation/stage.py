"""What the conductor does to a simulated fleet; each depth is a Stage.

Processes are named as in strikes; `a-twin` is another process that says it is `a`. Who is not there (crashed, left,
never started) is left alone, without an error: a plan was drawn before anybody knew. What is set for a name (its way
to the server, its clock, the silence of its watches) holds for its node: a process of that name that starts later
finds it in force.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Literal, Protocol

from chaos.simulation.strikes import Record

EditHow = Literal["touch", "lower-epoch", "retire", "activate", "rollback", "mangle"]


class Stage(Protocol):
    """Every method returns at once. Those that set something replace what was set before; overlaps are the conductor's
    matter. The stage tells the jury what lives and what is written; Struck and Healed are told by the conductor."""

    @property
    def hits(self) -> Counter[str]:
        """How often a strike met something, by its tag ("lost-answers"): a write whose answer was lost, an event that
        did not arrive, a record that was there to be deleted. The stage counts, each act once; twins and storms, which
        it does not know as such, are counted by the conductor."""

    # -- processes -------------------------------------------------------------------------------------------------

    def start(self, process: str, *, reaped: bool) -> None:
        """A worker or an agent, known or not; nothing where one of that name lives. reaped: its supervisor saw the
        last one die. A process that died by itself is started again by the stage."""

    def crash(self, process: str, crashed: Callable[[], None], *, after_write: bool) -> None:
        """SIGKILL, also of one that is paused or on its way out. after_write: right after the store has accepted its
        next write, before the answer travels. crashed: called when it has happened."""

    def leave(self, process: str, left: Callable[[], None]) -> None:
        """SIGTERM. left: called when the process has ended, unless it was crashed before."""

    def pause(self, process: str) -> None:
        """SIGSTOP: nothing of it runs. A process that starts under its name is not paused."""

    def resume(self, process: str) -> None:
        """SIGCONT."""

    def run_at(self, process: str, rate: float) -> None:
        """Seconds of its clock in a true second, from now on."""

    # -- the way to the server -------------------------------------------------------------------------------------

    def wire(self, process: str, *, to_server: bool, to_client: bool, latency_seconds: float) -> None:
        """to_server, to_client: whether anything gets through that way; what does not is lost, senders see their
        timeouts. Watches are answers: without to_client they say nothing and their client does not know. Each way
        takes up to latency_seconds longer."""

    def lose_answers(self, process: str, times: int) -> None:
        """Of its next writes that arrive, on top of what is left of an earlier call. They are carried out."""

    def lose_requests(self, process: str, times: int) -> None:
        """Its next writes do not arrive and break off; likewise."""

    def land_late(self, process: str, late_seconds: float, times: int) -> None:
        """Its next writes break off at once and are carried out late_seconds later, even if it is dead by then."""

    def brown_out(self, on: bool) -> None:
        """The server takes requests from nobody and its watches are silent; nothing is refused."""

    def refuse(self, process: str, *, shard_writes: bool, object_lists: bool) -> None:
        """Whether the server refuses what it writes into Leases of shards, and its lists of objects; a refusal is
        answered."""

    # -- what is read ----------------------------------------------------------------------------------------------

    def lag(self, replica: int, seconds: float | None) -> None:
        """How much one front end of the server is behind, for watches and for reads that need not be current. 0: not
        at all. None: what it knows now is all that it ever knows, until the next call."""

    def silence(self, process: str, on: bool) -> None:
        """Whether its watches, open and new, say nothing. What they did not say arrives when it ends."""

    def cut_watches(self, process: str, *, gone: bool) -> None:
        """Its open watches break. gone: and cannot be resumed from where they were (410)."""

    def drop_events(self, process: str, times: int) -> None:
        """Of its watches; the next so many do not arrive, later ones do."""

    def truncate_lists(self, process: str, times: int) -> None:
        """Its next lists end before their end, as if complete."""

    # -- hands -----------------------------------------------------------------------------------------------------

    def delete(self, record: Record, index: int) -> None:
        """One of those that are there, in order of names, modulo their number; so in the next two."""

    def steal(self, record: Literal["member", "shard", "coordinator"], index: int, holder: str) -> None:
        """Another holder in a Lease, or none ("")."""

    def edit(self, record: Record, index: int, how: EditHow) -> None:
        """See `strikes.Edit`; nothing where `how` means nothing for that record."""

    def restore(self, back_seconds: float) -> None:
        """The store goes back to what it was then, or at the start; its history is another from here on."""

    def reshard(self, shards: int) -> None:
        """`shards.count` in the config of every agent, of those that start later as well."""

    # -- the end ---------------------------------------------------------------------------------------------------

    def disarm(self) -> None:
        """What was ordered for next writes, events and lists is called off, and so is a crash after a write. What is
        held on the wire lands now, in order of its times."""
