"""The roles and bindings that a server with access control begins with."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import msgspec

from shards.objects import Object


def default_roles() -> Iterator[Object]:
    """ClusterRoles and ClusterRoleBindings of the real server that are of use without its controllers and nodes."""
    raw = files(__package__).joinpath("roles.jsonl").read_bytes()
    decoder = msgspec.json.Decoder(dict)
    return (decoder.decode(line) for line in raw.splitlines() if line)
