"""All invariants, in order of their numbers."""

from __future__ import annotations

from fleet.devcluster.judging.acts import (
    Breaker,
    FreshView,
    LiveRead,
    OneOwner,
    RightIncarnation,
    SameSnapshot,
)
from fleet.devcluster.judging.caches import Alternating, CacheEqualsServer, KnownStaleness
from fleet.devcluster.judging.deletions import WholeLists
from fleet.devcluster.judging.effects import OnceOnly, SameAsReference
from fleet.devcluster.judging.ends import Stopped
from fleet.devcluster.judging.invariant import Invariant
from fleet.devcluster.judging.lives import Freed, SoonOwned
from fleet.devcluster.judging.locks import FewMoves, GrowingEpochs, Mutex, WholeSpace
from fleet.devcluster.judging.queues import BackingOff, NoStarvation
from fleet.devcluster.judging.requests import BoundedLoad
from fleet.devcluster.judging.responses import AtRest, WokenUp
from fleet.devcluster.judging.views import NeverBack
from fleet.devcluster.judging.workers import FlatResources, HonestHealth

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
