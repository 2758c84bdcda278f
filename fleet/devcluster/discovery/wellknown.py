"""Paths that are no API: health, version and the list of paths."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.requests import Request

HEALTH_PATHS = ("healthz", "livez", "readyz")
_CHECKS = ("ping", "log", "etcd", "poststarthook/start-apiextensions-controllers", "poststarthook/crd-informer-synced")
_READY_CHECKS = ("informer-sync", "shutdown")
_TEXT = "text/plain; charset=utf-8"
_VERSION = {
    "major": "1",
    "minor": "37",
    "emulationMajor": "1",
    "emulationMinor": "37",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "36",
    "gitVersion": "v1.37.0-shardfleet",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


def health_answer(request: Request) -> tuple[bytes, str]:
    """Body and content type of /healthz, /livez, /readyz and of a single check below them. Raises StatusError 404."""
    endpoint, _, check = request.path.strip("/").partition("/")
    checks = (*_CHECKS, *(_READY_CHECKS if endpoint == "readyz" else ()))
    if check:
        if check not in checks:
            raise statuses.no_such_path()
        return b"ok", _TEXT
    if not request.has("verbose"):
        return b"ok", _TEXT
    excluded = {value for name, value in request.query if name == "exclude"}
    lines = [f"[+]{each} {'excluded: ok' if each in excluded else 'ok'}\n" for each in checks]
    return f"{''.join(lines)}{endpoint} check passed\n".encode(), _TEXT


def version_answer() -> bytes:
    """Body of /version, as JSON."""
    return msgspec.json.encode(_VERSION)


def paths_answer(paths: Iterable[str]) -> bytes:
    """What `/` lists, as JSON. paths: those of the APIs."""
    health = [f"/{each}" for each in HEALTH_PATHS]
    return msgspec.json.encode({"paths": sorted({*paths, *health, "/openapi/v2", "/openapi/v3", "/version"})})
