"""Faults over HTTP, for experiments that run elsewhere than the server or the proxy.

GET /-/faults           what is in force: [{"id": 1, "struck": 0, "in_force": true, "fault": {...}}]
POST /-/faults          puts one fault in force, or a list of them, all or none; answers as GET, of the new ones
DELETE /-/faults        heals everything
DELETE /-/faults/ID     releases one
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import msgspec

from fleet.devcluster.faults.documents import placed, read_faults, written
from fleet.devcluster.faults.injection import Injection
from fleet.devcluster.faults.injector import Faults
from fleet.devcluster.faults.words import ClockSkew, Word
from fleet.devcluster.wire.answers import Answer
from fleet.devcluster.wire.requests import UNREADABLE
from shards.errors import ConfigError

PATH = "/-/faults"


class Listed(msgspec.Struct):
    """One fault as the endpoint shows it."""

    id: int
    struck: int
    in_force: bool
    fault: dict[str, object]


def answer(faults: Faults, method: str, path: str, body: bytes | None) -> Answer:
    """400 names the field that is wrong, as {"field": ..., "error": ...}; 404 for an id that is not in force."""
    number = path.removeprefix(PATH).strip("/")
    if method == "GET" and not number:
        return _listed(200, faults)
    if method == "POST" and not number:
        return _inject(faults, body)
    if method == "DELETE" and not number:
        faults.clear()
        return _listed(200, faults)
    if method == "DELETE":
        found = next((each for each in faults if str(each.id) == number), None)
        if found is None:
            return _failed(404, "id", f"no fault {number!r} is in force")
        found.release()
        return _listed(200, [found])
    return _failed(405, "method", f"{method} {path} means nothing here")


def _inject(faults: Faults, body: bytes | None) -> Answer:
    try:
        document = msgspec.json.decode(body or b"")
        wanted = read_faults(document)
        for index, each in enumerate(wanted):
            # Before the first one is in force: an open watch that was ended cannot be given back.
            with placed(f"[{index}]" if isinstance(document, list) else ""):
                _check(faults, each)
    except UNREADABLE as error:
        return _failed(400, "", f"the body is no JSON: {error}")
    except ConfigError as error:
        return _failed(400, error.path, str(error))
    return _listed(201, [faults.inject(each) for each in wanted])


def _check(faults: Faults, fault: Word) -> None:
    """Raises ConfigError."""
    faults.check(fault)
    if isinstance(fault, ClockSkew) and not faults.clocks:
        # In Python a clock may be made later; who asks over HTTP would wait for nothing.
        raise ConfigError("fault", "nobody takes the time from here: processes of their own run on the machine's clock")


def _listed(status: int, injections: Iterable[Injection]) -> Answer:
    now = asyncio.get_running_loop().time()
    rows = [Listed(each.id, each.struck, each.lasts(now), written(each.fault)) for each in injections]
    return Answer(status, msgspec.json.encode(rows))


def _failed(status: int, field: str, message: str) -> Answer:
    return Answer(status, msgspec.json.encode({"field": field, "error": message}))
