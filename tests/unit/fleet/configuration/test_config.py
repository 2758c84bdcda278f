from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from fleet.configuration import config, gate_config, rollout_config
from fleet.configuration.config import FleetConfig
from fleet.configuration.config_file import config_from
from shards.settings import BreakerSettings

ROOT = Path(__file__).parents[4]
DOCUMENT = {"fleet": "web", "controller": "websites:app"}


def fields(section: type[msgspec.Struct] = FleetConfig, path: str = "") -> Iterator[tuple[str, object]]:
    """Dotted path and default of every field that is not a section."""
    for field in msgspec.structs.fields(section):
        name = f"{path}{field.encode_name}"
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from fields(field.type, f"{name}.")
        else:
            yield name, field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def documented_attributes() -> set[tuple[str, str]]:
    found = set()
    sources = [Path(str(module.__file__)).read_text() for module in (config, gate_config, rollout_config)]
    nodes = [node for source in sources for node in ast.parse(source).body]
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            for field, after in zip(node.body, node.body[1:], strict=False):
                if isinstance(field, ast.AnnAssign) and isinstance(after, ast.Expr):
                    found.add((node.name, ast.unparse(field.target)))
    return found


def test_every_field_has_a_docstring() -> None:
    documented = documented_attributes()
    kinds = (vars(config) | vars(gate_config) | vars(rollout_config)).values()
    sections = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    named = {
        (section.__name__, field.name)
        for section in sections
        for field in msgspec.structs.fields(section)
        if not (isinstance(field.type, type) and issubclass(field.type, msgspec.Struct))
    }
    assert named
    assert named - documented == set()


@pytest.mark.parametrize(("path", "default"), list(fields()), ids=[path for path, _ in fields()])
def test_the_docs_name_every_field_with_its_default(path: str, default: object) -> None:
    lines = (ROOT / "docs/configuration.md").read_text().splitlines()
    [line] = [line for line in lines if line.startswith(f"| `{path}` |")]
    shown = line.split("|")[2].strip()
    if path == "coordination.renewSeconds":
        assert shown == "leaseSeconds / 4"
    elif path == "client.burst":
        assert shown == "requestsPerSecond x 2"
    elif default is None:
        assert shown == "no limit"
    elif default is msgspec.NODEFAULT:
        assert shown == "required"
    elif default == {}:
        assert shown == "{}"
    elif default == () and path.startswith(("scope", "canary")):
        assert shown == "[]"
    elif default == "" and path.startswith("scope"):
        assert shown == '""'
    elif isinstance(default, bool):
        assert shown == str(default).lower()
    else:
        assert shown == ("" if default in ("", ()) else str(default))


def test_a_digest_is_of_meanings_and_not_of_spellings() -> None:
    plain = config_from(DOCUMENT)
    assert config_from({**DOCUMENT, "shards": {"count": 16}}).digest == plain.digest
    assert config_from({**DOCUMENT, "shards": {"count": 17}}).digest != plain.digest
    assert len(plain.digest) == 16


def test_shard_settings_carry_what_the_file_says() -> None:
    settings = config_from(
        {
            **DOCUMENT,
            "shards": {"partitionBy": "namespace"},
            "queue": {"maxConcurrentReconciles": 3, "maxDelaySeconds": 9, "reconcileTimeoutSeconds": 4},
            "gate": {
                "liveReadAfterSeconds": 1.5,
                "liveReadsPerSecond": 2,
                "statusStaleWindowSeconds": 90,
                "breaker": {"destructiveLimit": 7, "windowSeconds": 30, "failuresToOpen": 2, "openSeconds": 4},
            },
            "scope": {"namespaces": ["a"], "labelSelector": "x=y"},
            "client": {"requestsPerSecond": 20, "burst": 30, "fleetRequestsPerSecond": 100},
            "featureGates": {"VersionGate": False, "ServerSideSharding": "off", "SlotLabels": "on"},
        }
    ).shard_settings()
    assert (settings.queue.max_concurrent_reconciles, settings.queue.max_delay_seconds) == (3, 9)
    assert settings.queue.reconcile_timeout_seconds == 4
    assert (settings.gate.enabled, settings.gate.live_read_after_seconds) == (False, 1.5)
    assert settings.gate.live_reads_per_second == 2
    assert settings.gate.status_stale_window_seconds == 90
    assert settings.gate.breaker == BreakerSettings(7, 30, 2, 4)
    assert (settings.scope.namespaces, settings.scope.label_selector) == (("a",), "x=y")
    assert (settings.server_side_sharding, settings.slot_labels) == ("off", "on")
    assert (settings.client.requests_per_second, settings.client.burst) == (20, 30)
    assert settings.client.fleet_requests_per_second == 100


def test_renewals_come_four_times_a_lease_unless_the_file_says_otherwise() -> None:
    assert config_from({**DOCUMENT, "coordination": {"leaseSeconds": 10}}).coordination.renew_every_seconds == 2.5
    timing = config_from({**DOCUMENT, "coordination": {"leaseSeconds": 10, "renewSeconds": 1}}).coordination
    assert timing.renew_every_seconds == 1
    assert timing.deadline_seconds == 8.5


def test_the_grace_of_a_pod_leaves_time_to_leave_and_to_drain() -> None:
    workers = config_from({**DOCUMENT, "workers": {"drainSeconds": 2, "leaveSeconds": 3}}).workers
    assert workers.grace_seconds > 5


def test_references_are_those_of_either_field() -> None:
    assert config_from(DOCUMENT).references == ("websites:app",)
    assert config_from({"fleet": "web", "controllers": ["a:b", "c:d"]}).references == ("a:b", "c:d")
