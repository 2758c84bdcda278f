"""All invariants, in order of their numbers."""

from __future__ import annotations

from fleet.devcluster.checkers.acts import (
    Breaker,
    LiveRead,
    OneOwner,
    RightIncarnation,
    SameSnapshot,
)
from fleet.devcluster.checkers.caches import Alternating, CacheEqualsServer, KnownStaleness
from fleet.devcluster.checkers.deletions import WholeLists
from fleet.devcluster.checkers.effects import OnceOnly, SameAsReference
from fleet.devcluster.checkers.ends import Stopped
from fleet.devcluster.checkers.freshness import FreshView
from fleet.devcluster.checkers.lives import Freed, SoonOwned
from fleet.devcluster.checkers.locks import FewMoves, GrowingEpochs, Mutex, WholeSpace
from fleet.devcluster.checkers.queues import BackingOff, NoStarvation
from fleet.devcluster.checkers.requests import BoundedLoad
from fleet.devcluster.checkers.responses import AtRest, WokenUp
from fleet.devcluster.checkers.views import NeverBack
from fleet.devcluster.checkers.workers import FlatResources, HonestHealth
from fleet.devcluster.invariants.invariant import Invariant

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
