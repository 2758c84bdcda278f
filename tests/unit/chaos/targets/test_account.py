from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from chaos.actions.credentials import rotate_token
from chaos.targets.account import Account
from chaos.targets.target import TargetFailed
from shards.objects import Object, Resource
from tests.unit.chaos.targets.paper import PaperTarget

RECORDED = {
    "clusters": [{"name": "dev", "cluster": {"server": "http://127.0.0.1:1"}}],
    "users": [{"name": "dev", "user": {"token": "of an administrator"}}],
}


class Issuer:
    """An API that makes tokens called after the Secrets that they are bound to."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.deleted: list[str] = []

    def create(self, resource: Resource, namespace: str, body: Object) -> Object:
        self.made.append(f"{resource.plural}/{body['metadata']['name']}")
        return {"metadata": {"name": body["metadata"]["name"], "uid": "u"}}

    def create_under(self, resource: Resource, namespace: str, name: str, subresource: str, body: Object) -> Object:
        bound: dict[str, Any] = body["spec"]["boundObjectRef"]
        return {"status": {"token": f"{subresource} for {name}, bound to {bound['name']}"}}

    def delete(self, resource: Resource, namespace: str, name: str) -> None:
        self.deleted.append(name)


def account(issuer: Issuer, directory: Path) -> Account:
    recorded = directory / "kubeconfig"
    recorded.write_text(yaml.safe_dump(RECORDED))
    return Account(issuer, "chaos-0", recorded, directory)  # type: ignore[arg-type]


def test_pods_go_where_the_recorder_is_with_a_token_from_a_file(tmp_path: Path) -> None:
    made = account(Issuer(), tmp_path)
    made.install()
    document = yaml.safe_load(made.kubeconfig.read_text())
    assert document["clusters"] == RECORDED["clusters"]
    (user,) = document["users"]
    token = Path(user["user"]["tokenFile"])
    assert token.read_text() == "token for fleet, bound to fleet-credential-1"
    assert token.stat().st_mode & 0o077 == 0


def test_a_rotation_puts_another_token_there_and_ends_the_old_one(tmp_path: Path) -> None:
    issuer, target = Issuer(), PaperTarget()
    target.account = made = account(issuer, tmp_path)  # type: ignore[attr-defined]
    made.install()
    rotate_token(target)
    assert (tmp_path / "token").read_text() == "token for fleet, bound to fleet-credential-2"
    assert issuer.deleted == ["fleet-credential-1"]


def test_pods_without_a_credential_of_their_own_are_told() -> None:
    with pytest.raises(TargetFailed, match="write tokenFile: true"):
        rotate_token(PaperTarget())


def test_nobody_inherits_the_rights_of_an_account_whose_namespace_has_gone(tmp_path: Path) -> None:
    issuer = Issuer()
    made = account(issuer, tmp_path)
    made.install()
    made.withdraw()
    assert issuer.deleted == ["fleet-of-chaos-0"]
