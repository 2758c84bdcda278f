"""What a member says of the filters that its views stand on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FilterRecord:
    """What views of one resource stand on at a member; rides on the member record.

    filter: in force. views: how many. best: the filter that role and key allow, "" where there is none. verdict: what
    is known of that one, and why. foreign: objects that came although it excludes them. probed: when the server last
    answered about it, in seconds since 1970; 0: never.
    """

    resource: str = ""
    filter: str = ""
    views: int = 0
    best: str = ""
    verdict: str = ""
    why: str = ""
    foreign: int = 0
    probed: int = 0
