"""What an experiment leaves behind, with the field names of chaostoolkit's journal."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from fleet.devcluster.evidence.verdict import Verdict

STRIKES = "strikes"
"""In what an action returned: what it did one after the other, each `{"what": text, "at": time, "until": time or null}`
by the target's clock; until null: over at once."""

Status = Literal["completed", "failed", "aborted", "interrupted"]


class ActivityRun(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One activity that was carried out. start, end: UTC, ISO 8601. duration: seconds, without its pauses.

    output: what the function returned, as JSON; text where it was nothing that JSON has. exception: what it raised
    instead, "" if nothing. tolerance, tolerance_met: on probes of the hypothesis.
    """

    name: str
    type: str
    status: Literal["succeeded", "failed"]
    start: str
    end: str
    duration: float
    output: Any = None
    exception: str = ""
    tolerance: str = ""
    tolerance_met: bool | None = None


class Harm(msgspec.Struct, omit_defaults=True, kw_only=True):
    """What was done to one process. kind: "killed" or "paused". member: "" for one that is no worker. Times are the
    recording's; until: None for good."""

    kind: str
    pod: str
    child: str
    member: str = ""
    at: float
    until: float | None = None


class SteadyState(msgspec.Struct):
    """One look at the hypothesis."""

    steady_state_met: bool
    probes: list[ActivityRun]


class SteadyStates(msgspec.Struct):
    """None: not looked at."""

    before: SteadyState | None = None
    after: SteadyState | None = None


class Journal(msgspec.Struct, kw_only=True):
    """status: completed; failed, the hypothesis was not met before or after; aborted, an activity of the method
    failed, so that nothing was shown; interrupted, by Ctrl-C or SIGTERM. deviated: met before, not met after.

    target: on which it ran. verdict: of the judge, over everything that was recorded; None where it was not asked.
    name: by which the experiment was asked for. without: the rule that the fleet ran without. harms: in order.
    clock_offset: added to a time of the recording, it gives seconds since 1970. judged_at: by the recording's clock;
    what was recorded later says nothing about the experiment. None: not known. trouble: what kept it from being carried
    out or judged to the end; "" where nothing did.
    """

    experiment: dict[str, Any]
    start: str
    end: str = ""
    duration: float = 0.0
    status: Status = "completed"
    deviated: bool = False
    steady_states: SteadyStates = msgspec.field(default_factory=SteadyStates)
    run: list[ActivityRun] = msgspec.field(default_factory=list)
    rollbacks: list[ActivityRun] = msgspec.field(default_factory=list)
    target: str = ""
    verdict: Verdict | None = None
    name: str = ""
    without: str = ""
    harms: list[Harm] = msgspec.field(default_factory=list)
    clock_offset: float = 0.0
    judged_at: float | None = None
    trouble: str = ""

    @property
    def passed(self) -> bool:
        """Completed, judged to the end, and everything was put back."""
        return self.status == "completed" and self.put_back and not self.trouble

    @property
    def put_back(self) -> bool:
        """Every rollback was carried out, and none failed."""
        return not self.left and all(each.status == "succeeded" for each in self.rollbacks)

    @property
    def left(self) -> list[str]:
        """Names of the rollbacks that nobody carried out: a second Ctrl-C ended them. None where nothing was done
        that could be undone."""
        if self.steady_states.before is None:
            return []
        wanted = self.experiment.get("rollbacks") or []
        return [str(each.get("name", "")) for each in wanted[len(self.rollbacks) :]]

    def as_dict(self) -> dict[str, Any]:
        """As JSON's types."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found
