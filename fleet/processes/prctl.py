"""Two Linux process attributes that Python has no call for.

Sources: prctl(2), PR_SET_PDEATHSIG(2const), PR_SET_CHILD_SUBREAPER(2const).
"""

from __future__ import annotations

import ctypes
import os

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36

# Loaded at import, in the parent: a child must not run the dynamic loader between fork and its first instruction.
_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(ctypes.c_int(option), ctypes.c_ulong(value), 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")


def set_parent_death_signal(signum: int) -> None:
    """The kernel sends this process `signum` when its parent dies. Not inherited by its own children.

    It does not fire for a parent that is dead already: compare os.getppid() afterwards.
    """
    _prctl(_PR_SET_PDEATHSIG, signum)


def set_child_subreaper(enabled: bool) -> None:
    """Orphaned descendants of this process become its children, so that it can wait for them. Not inherited."""
    _prctl(_PR_SET_CHILD_SUBREAPER, int(enabled))
