"""The control endpoint of what stands between fleet and server: faults, and the journal so far. On loopback."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from chaos.targets.target import TargetFailed
from fleet.devcluster.evidence.verdict import Verdict
from fleet.devcluster.faults.endpoint import PATH, Listed
from fleet.devcluster.recording.journal import Entry, decode_lines
from shards.errors import Unreachable

_REQUEST_SECONDS = 20.0


class Control:
    """url: of the embedded server, or of the fault proxy. Methods raise TargetFailed, and Unreachable."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._struck: dict[int, int] = {}
        self._staged: set[int] = set()
        # No proxy of the environment stands between us and loopback.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def verdict(self) -> Verdict:
        return msgspec.json.decode(self._request("GET", "/-/verdict"), type=Verdict)

    def entries_after(self, seq: int) -> list[Entry]:
        """What was recorded behind that number."""
        return list(decode_lines(self._request("GET", f"/-/journal?after={seq}")))

    def inject(self, *faults: Mapping[str, Any]) -> list[int]:
        made = self._listed("POST", PATH, [dict(each) for each in faults])
        return [each.id for each in made]

    def stage(self, fault: Mapping[str, Any]) -> list[int]:
        """Puts a fault in force of which `struck` says nothing, since it is a part of something else. Its number."""
        numbers = self.inject(fault)
        self._staged.update(numbers)
        return numbers

    def release(self, numbers: Sequence[int]) -> None:
        in_force = {each.id for each in self._listed("GET", PATH)}
        for number in numbers:
            if number in in_force:
                self._listed("DELETE", f"{PATH}/{number}")

    def heal(self) -> None:
        self._listed("GET", PATH)
        self._listed("DELETE", PATH)

    def struck(self) -> dict[int, int]:
        """How often each fault met something, as far as was asked while it was in force."""
        self._listed("GET", PATH)
        return {number: times for number, times in self._struck.items() if number not in self._staged}

    def storage(self, act: str) -> None:
        """act: compact, back-up or restore of an embedded server; restored, before a proxy."""
        self._request("POST", f"/-/storage/{act}", {})

    def _listed(self, method: str, path: str, body: object = None) -> list[Listed]:
        found = msgspec.json.decode(self._request(method, path, body), type=list[Listed])
        self._struck.update({each.id: each.struck for each in found})
        return found

    def _request(self, method: str, path: str, body: object = None) -> bytes:
        request = urllib.request.Request(
            f"{self.url}{path}",
            method=method,
            data=None if body is None else msgspec.json.encode(body),
            headers={"Content-Type": "application/json"},
        )
        try:
            with self._opener.open(request, timeout=_REQUEST_SECONDS) as answer:
                data: bytes = answer.read()
                return data
        except urllib.error.HTTPError as error:
            with error:
                raise TargetFailed(f"{method} {path}: {error.read().decode(errors='replace')}") from error
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"{method} {path}: {error}") from error
