"""Exit codes of supervisor, agent and workers, in one place.

The supervisor reads them: every code but EX_CONFIG means that the child is started again.
"""

from __future__ import annotations

import signal

EX_OK = 0
EX_SOFTWARE = 70
"""An error escaped the child's main function (sysexits.h EX_SOFTWARE)."""
EX_CONFIG = 78
"""A setting is wrong and another start would meet the same fault: nothing is restarted, the pod ends with this code."""
EX_WATCHDOG = 79
"""The watchdog ended a worker whose event loop was blocked."""
EX_DEADLINE = 80
"""A worker passed its deadline, or a drain its bound, with something that could not be cancelled (R2, R4)."""
EX_ORPHANED = 81
"""The supervisor had died before its child could ask for a death signal."""
EX_RECYCLED = 82
"""A worker left in order because memory was short, and is to be started again at once."""


def exit_code_of(status: int) -> int:
    """Shell convention for a wait status as `os.waitstatus_to_exitcode` gives it: a signal n becomes 128 + n."""
    return status if status >= 0 else 128 - status


def describe(status: int) -> str:
    """In words, for the log."""
    if status >= 0:
        return f"exit code {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
