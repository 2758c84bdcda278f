"""What the model of the ownership protocol is about: the records, who reads and writes them, one moment of all that.

Sets of ranges are bit masks. Names and processes are numbers: two processes may bear one name (R1). Time is abstracted
into one fact per process: `believes`, its own deadline has not passed. What needs a lease to pass without a sign of
life (a fence, a takeover of a name) is possible only while whoever it is about does not believe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tests.model.code import Code

ABSENT, ACTIVE, RETIRED = 0, 1, 2
OK, BLIND, STUCK, COLD = 0, 1, 2, 3
"""Health. BLIND: its views of map and shard Leases stand still. STUCK: it renews and does nothing else that it should.
COLD: its standbys never get their views complete."""

NOBODY = -1
GONE = -1
"""Epoch of a process that will never come back."""
EMPTIED = (-1, 0)
"""Holder of a shard Lease that a hand emptied: no release says so."""
OPEN, LIST = -1, -2
"""What a gate waits for: nothing; a list after the claim. Otherwise a version of the contents."""

Holder = tuple[int, int]
"""A name and a member epoch."""


class Lease(NamedTuple):
    """A shard Lease. epoch: counted only where a scenario needs it. standby: name, member epoch, and the shard epoch
    that it saw.

    mark: the watermark: a version of the contents, and the shard epoch of the release.
    """

    status: int
    holder: Holder | None = None
    epoch: int = 0
    standby: tuple[int, int, int] | None = None
    mark: tuple[int, int] | None = None


class Member(NamedTuple):
    """A member Lease. epoch 0: there is none. holder: a process. echo: the latest loss of a range that the last renewal
    said had been acted on. kicked: it holds a renewal that its holder never sent."""

    epoch: int = 0
    holder: int = NOBODY
    echo: int = 0
    kicked: bool = False


class Map(NamedTuple):
    """targets: a name per range of the layout. floors: per name. lost: per range the number of its loss, 0 = not lost;
    losses: the highest number given. config: version of the config that the layout was made for. office: of the term
    that wrote it first. forgotten: the highest floor that has gone."""

    layout: int
    targets: tuple[int, ...]
    retiring: int
    floors: tuple[int, ...]
    opened: int
    lost: tuple[int, ...]
    losses: int = 0
    config: int = 0
    office: int = 0
    forgotten: int = 0


class Process(NamedTuple):
    """epoch: member epoch that it runs under; 0 = no member; GONE. view: the last map that it has seen.

    holds: ranges that it may act on. drained: ranges that it will release. synced: ranges that it stands by for, its
    views complete. claim: a range whose Lease it has read and not yet written, -1 = none. seen, gate: for the one range
    of a scenario with contents. past: it lives in a history that a restore has ended. waits: it has noticed, and waits
    for a lease before it joins. established: who comes after it would know of it, so it may do something about ranges.
    """

    epoch: int
    believes: bool
    view: Map
    holds: int = 0
    drained: int = 0
    synced: int = 0
    claim: int = -1
    health: int = OK
    seen: int = 0
    gate: int = OPEN
    past: bool = False
    waits: bool = False
    established: bool = False


class Coordinator(NamedTuple):
    """view: the map that it plans on; None = it has seen none. op: what it has begun, with what it has read.

    config: version of the config that it has read. quiet: it has noticed a restore, and waits for a lease.
    """

    view: Map | None
    op: tuple[object, ...] | None = None
    config: int = 0
    quiet: bool = False


class State(NamedTuple):
    """valid: who holds the coordinator Lease. term: how often it was won. contents: version of the range's objects.

    brown: 0 = none; 1 = the server answers nobody; 2 = it answers again, and the coordinator has not waited a lease.
    backup: members, Leases and map as somebody saved them. budget: what may still happen, see `FAULTS`.
    """

    members: tuple[Member, ...]
    leases: tuple[Lease, ...]
    map: Map | None
    processes: tuple[Process, ...]
    coordinators: tuple[Coordinator, ...]
    valid: int
    term: int
    contents: int
    brown: int
    backup: tuple[object, object, object] | None
    budget: tuple[int, ...]


class Step(NamedTuple):
    """One move. fault: nobody can count on it: a fault, or a choice of people. harm: what it costs availability."""

    label: str
    state: State
    fault: bool = False
    harm: str = ""


FAULTS = (
    "crash",  # a process ends and its supervisor starts it again
    "vanish",  # a process ends for good, as with its node
    "leave",  # a process leaves for good, its drain cut short: its shard Leases still name it
    "expire",  # a process stalls past its deadline
    "elect",  # another candidate takes office
    "reshard",  # the other layout is wanted
    "retarget",  # a range is given to another member by choice
    "delete-shard",  # somebody deletes a shard Lease
    "empty-shard",  # somebody empties the holder of a shard Lease
    "delete-member",
    "delete-map",
    "restore",  # somebody restores the store to an earlier state
    "lost-answer",  # a write lands and its sender does not know
    "blind",
    "stuck",
    "cold",
    "act",  # the owner changes an object
    "brown-out",  # the server answers nobody for longer than a lease
    "config",  # the config is edited
)
INDEX = {name: i for i, name in enumerate(FAULTS)}


class World:
    """A scenario to explore. names: the name of each process. split: one range that can be cut in two, or one alone.

    standbys: a planned release waits for the target's standby. gates: contents, watermarks and lists are modelled.
    slow_maps: a coordinator plans a map and writes it later. new: the map names nobody yet but as a target. without:
    rules and parts of rules that are removed. code: what decides and writes; None where something is removed: the
    moves then follow the rules as they are written here.
    """

    def __init__(
        self,
        budget: dict[str, int],
        *,
        names: tuple[int, ...] = (0, 1),
        split: bool = False,
        standbys: bool = False,
        gates: bool = False,
        slow_maps: bool = False,
        running: bool = False,
        governed: bool = True,
        collects: bool = False,
        new: bool = False,
        without: frozenset[str] = frozenset(),
    ) -> None:
        self.names, self.split, self.standbys, self.gates, self.slow_maps = names, split, standbys, gates, slow_maps
        self.governed, self.running, self.collects, self.without = governed, running, collects, without
        self.new = new
        self.code: Code | None = None
        self.budget = tuple(budget.get(name, 0) for name in FAULTS)
        assert set(budget) <= set(FAULTS), budget
        self.people = max(names) + 1
        # Ranges of the split world: 0 = both keys, 1 = the lower, 2 = the upper.
        self.keys = (3, 1, 2) if split else (1,)
        self.every_key = 3 if split else 1
        self.ranges = range(len(self.keys))
        self.layouts = ((0,), (1, 2)) if split else ((0,),)
        self.overlaps = (0b110, 0b001, 0b001) if split else (0,)
        self.layout_masks = tuple(sum(1 << r for r in layout) for layout in self.layouts)
        self.epochs = standbys or gates
        self.targets_may_die = any(map(budget.get, ("crash", "vanish", "leave", "expire", "blind", "stuck")))

    def left(self, s: State, fault: str) -> int:
        return s.budget[INDEX[fault]]

    def spend(self, s: State, fault: str) -> State:
        i = INDEX[fault]
        return s._replace(budget=put(s.budget, i, s.budget[i] - 1))

    def target(self, m: Map, r: int) -> int:
        """The name that the map gives the range to; -1 where it is not in the layout."""
        layout = self.layouts[m.layout]
        return m.targets[layout.index(r)] if r in layout else -1

    def start(self) -> State:
        """One range, active and free, for the first name; in a fleet that runs, all have joined and it is owned."""
        m = Map(0, (0,), 0, (int(not self.new),) * self.people, 1, (0,) * len(self.keys))
        leases = (Lease(ACTIVE), *(Lease(ABSENT) for _ in self.ranges[1:]))
        members, processes = (Member(),) * self.people, (Process(0, False, m),) * len(self.names)
        if self.running:
            firsts = [self.names.index(name) for name in range(self.people)]
            members = tuple(Member(1, p) for p in firsts)
            processes = tuple(
                Process(int(p in firsts), p in firsts, m, int(p == 0), established=p in firsts)
                for p in range(len(self.names))
            )
            leases = put(leases, 0, Lease(ACTIVE, (0, 1), int(self.epochs)))
        return State(
            members=members,
            leases=leases,
            map=m,
            processes=processes,
            coordinators=(Coordinator(m), Coordinator(m)),
            valid=0,
            term=0,
            contents=0,
            brown=0,
            backup=None,
            budget=self.budget,
        )


def put(t: tuple, i: int, v: object) -> tuple:  # type: ignore[type-arg]  # of any element
    return (*t[:i], v, *t[i + 1 :])


def with_process(s: State, p: int, process: Process) -> State:
    return s._replace(processes=put(s.processes, p, process))


def with_member(s: State, name: int, member: Member) -> State:
    return s._replace(members=put(s.members, name, member))


def with_coordinator(s: State, c: int, coordinator: Coordinator) -> State:
    return s._replace(coordinators=put(s.coordinators, c, coordinator))


def emptied(me: Process) -> Process:
    """It has dropped everything, and is no member."""
    return me._replace(
        epoch=0,
        believes=False,
        holds=0,
        drained=0,
        synced=0,
        claim=-1,
        gate=OPEN,
        seen=0,
        past=False,
        established=False,
    )


def write_lease(w: World, s: State, r: int, lease: Lease) -> State:
    """A write moves the version: whatever was begun on an earlier one will conflict, and conflicts have no effect.

    So these are ended at once. A creation is different: it conflicts only if the Lease exists when it arrives.
    """
    if "claim-without-cas" not in w.without:
        s = s._replace(processes=tuple(x._replace(claim=-1) if x.claim == r else x for x in s.processes))
    for c, x in enumerate(s.coordinators):
        op = x.op
        if op is None or op[1] != r:
            continue
        doomed = op[0] == "retire" or (op[0] in ("activate", "checked", "commit") and not op[2])
        if doomed and not ("activate-without-cas" in w.without and op[0] != "retire"):
            s = with_coordinator(s, c, x._replace(op=None))
    return s._replace(leases=put(s.leases, r, lease))


def write_map(s: State, m: Map | None) -> State:
    """Whatever map was planned on another one, and is written later, will conflict."""
    for c, x in enumerate(s.coordinators):
        if x.op is not None and x.op[0] in ("map", "forget") and x.op[2] != m:
            s = with_coordinator(s, c, x._replace(op=None))
    return s._replace(map=m)


def is_held(w: World, s: State, name: int) -> bool:
    """Whether the incarnation that holds the member Lease may still act."""
    member = s.members[name]
    if member.holder == NOBODY:
        return False
    me = s.processes[member.holder]
    return me.epoch == member.epoch and me.believes and me.epoch > 0


def is_free(lease: Lease, floors: tuple[int, ...]) -> bool:
    """R3, for whoever is not its holder."""
    if lease.holder is None:
        return True
    return lease.holder != EMPTIED and lease.holder[1] < floors[lease.holder[0]]


def known_epoch(s: State, name: int, shown: Map | None) -> int:
    """The highest epoch of a name that this map or shard Leases remember (R14)."""
    floor = shown.floors[name] if shown is not None else 0
    return max([floor, *[x.holder[1] for x in s.leases if x.holder is not None and x.holder[0] == name]])
