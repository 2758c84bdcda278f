"""All invariants, in order of their numbers."""

from __future__ import annotations

from fleet.devcluster.judging.acts import (
    Breaker,
    FreshView,
    LiveRead,
    OneOwner,
    RightIncarnation,
    SameSnapshot,
    Stopped,
)
from fleet.devcluster.judging.effects import AtRest, OnceOnly, SameAsReference, WokenUp
from fleet.devcluster.judging.invariant import Invariant
from fleet.devcluster.judging.locks import FewMoves, Freed, GrowingEpochs, Mutex, SoonOwned, WholeSpace
from fleet.devcluster.judging.requests import BoundedLoad, NeverBack, WholeLists
from fleet.devcluster.judging.workers import (
    Alternating,
    BackingOff,
    CacheEqualsServer,
    FlatResources,
    HonestHealth,
    KnownStaleness,
    NoStarvation,
)

INVARIANTS: tuple[type[Invariant], ...] = (
    OneOwner,
    GrowingEpochs,
    FreshView,
    SameSnapshot,
    LiveRead,
    Breaker,
    SoonOwned,
    WholeSpace,
    WokenUp,
    AtRest,
    OnceOnly,
    SameAsReference,
    RightIncarnation,
    CacheEqualsServer,
    NeverBack,
    Alternating,
    WholeLists,
    KnownStaleness,
    NoStarvation,
    BackingOff,
    BoundedLoad,
    FewMoves,
    Stopped,
    Freed,
    FlatResources,
    HonestHealth,
    Mutex,
)
