"""The roles and bindings that a server with access control begins with."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import msgspec

from fleet.devcluster.access.rules import Rule
from shards.objects import Object


def default_roles() -> Iterator[Object]:
    """ClusterRoles and ClusterRoleBindings of the real server that are of use without its controllers and nodes."""
    raw = files(__package__).joinpath("roles.jsonl").read_bytes()
    decoder = msgspec.json.Decoder(dict)
    return (decoder.decode(line) for line in raw.splitlines() if line)


_EVERYBODYS = ("system:basic-user", "system:discovery", "system:public-info-viewer")


def administrator_rules() -> list[Rule]:
    """What an administrator of the real server is told that he may do."""
    roles = (role for role in default_roles() if role["kind"] == "ClusterRole")
    rules = {role["metadata"]["name"]: role.get("rules", ()) for role in roles}
    return msgspec.convert([rule for name in ("cluster-admin", *_EVERYBODYS) for rule in rules[name]], list[Rule])
