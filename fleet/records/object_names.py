"""Names and labels of the objects that hold a fleet's records (design 3.1).

Objects are found by label, never by a prefix of their name: "web" and "web-member" may be two fleets of one namespace.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from fleet.records.record import DocumentName
from shards.errors import ConfigError
from shards.keyrange import HASH_VERSION, KeyRange
from shards.objects import DOMAIN, Object, Resource

LEASES = Resource("coordination.k8s.io", "v1", "leases")
CONFIG_MAPS = Resource("", "v1", "configmaps")
EVENTS = Resource("", "v1", "events")
EVENTS_REASON = "events"
"""What the User-Agent of the fleet's own Events says, so that they are told from those of authors."""

FLEET_LABEL = f"{DOMAIN}/fleet"
KIND_LABEL = f"{DOMAIN}/kind"

MAX_LABEL = 63
MAX_NAME = 253

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


class Kind(StrEnum):
    """Which record an object holds: the value of KIND_LABEL."""

    MEMBER = "member"
    SHARD = "shard"
    MAP = "map"
    COORDINATOR = "coordinator"
    DOCUMENT = "document"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Names:
    """The objects of one fleet in one namespace. Raises ConfigError for names that the API would refuse."""

    fleet: str
    namespace: str

    def __post_init__(self) -> None:
        for path, value in (("fleet", self.fleet), ("namespace", self.namespace)):
            if len(value) > MAX_LABEL or not _LABEL.fullmatch(value):
                raise ConfigError(
                    path,
                    f"{value!r} cannot name objects and be a label; use at most {MAX_LABEL} lower-case letters, "
                    "digits and dashes, with a letter or digit at both ends",
                )

    @property
    def map(self) -> str:
        return f"{self.fleet}-map"

    @property
    def coordinator(self) -> str:
        return f"{self.fleet}-coordinator"

    def document(self, name: DocumentName) -> str:
        return f"{self.fleet}-{name}"

    def member(self, name: str) -> str:
        """Lease of a member. name: `<pod>-<slot>`. Raises ConfigError."""
        whole = f"{self.fleet}-member-{name}"
        if len(whole) > MAX_NAME or not _SUBDOMAIN.fullmatch(name):
            raise ConfigError(
                "member",
                f"{name!r} cannot name a Lease; it must be a lower-case DNS subdomain, and {whole!r} at most "
                f"{MAX_NAME} characters",
            )
        return whole

    def shard(self, wanted: KeyRange) -> str:
        """Lease of a range. Key and hash version are part of it: ranges of two keys never share a Lease."""
        return f"{self.fleet}-shard-{wanted.key}v{HASH_VERSION}-{wanted.hashes}"

    def labels(self, kind: Kind) -> dict[str, str]:
        return {FLEET_LABEL: self.fleet, KIND_LABEL: str(kind)}

    def selector(self, kind: Kind) -> str:
        """Label selector for all objects of that kind."""
        return ",".join(f"{label}={value}" for label, value in self.labels(kind).items())

    def metadata(self, kind: Kind, name: str, *, version: str, uid: str = "") -> Object:
        """Of an object to be written. version: what it replaces; "" makes a create, which has no preconditions."""
        metadata: Object = {"name": name, "namespace": self.namespace, "labels": self.labels(kind)}
        if version:
            metadata["resourceVersion"] = version
            if uid:
                metadata["uid"] = uid
        return metadata
