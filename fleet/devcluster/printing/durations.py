"""Durations as people read them. Pure."""

from __future__ import annotations

from datetime import datetime

UNKNOWN = "<unknown>"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def human_duration(seconds: float) -> str:
    """Two or three significant figures, as HumanDuration of k8s.io/apimachinery/pkg/util/duration.

    Up to two seconds of clock skew count as now; what lies further in the future is "<invalid>".
    """
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    minutes, hours = whole // _MINUTE, whole // _HOUR
    if minutes < 10:
        return _with_rest(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _with_rest(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    return _in_days(hours)


def _in_days(hours: int) -> str:
    days = hours // 24
    if hours < 24 * 8:
        return _with_rest(days, "d", hours % 24, "h")
    if hours < 24 * 365 * 2:
        return f"{days}d"
    if hours < 24 * 365 * 8:
        return _with_rest(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _with_rest(count: int, unit: str, rest: int, rest_unit: str) -> str:
    return f"{count}{unit}{rest}{rest_unit}" if rest else f"{count}{unit}"


def seconds_of(timestamp: str | None) -> float | None:
    """Seconds since 1970 of an RFC 3339 timestamp, None where there is none. Raises ValueError."""
    return datetime.fromisoformat(timestamp).timestamp() if timestamp else None


class Ages:
    """How long ago something was, at one moment."""

    __slots__ = ("_now",)

    def __init__(self, now: float) -> None:
        """now: seconds since 1970."""
        self._now = now

    def since(self, timestamp: str | None) -> str:
        """timestamp: RFC 3339; "" or None: unknown."""
        moment = seconds_of(timestamp)
        return UNKNOWN if moment is None else human_duration(self._now - moment)
