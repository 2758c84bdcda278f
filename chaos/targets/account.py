"""The service account that pods act as, where an experiment is about their credential: a token in a file, as a kubelet
keeps it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import yaml

from chaos.targets.api import BlockingApi
from chaos.targets.target import Target, TargetFailed
from shards.errors import AlreadyExists, NotFound
from shards.objects import Resource

NAME = "fleet"
TOKEN_SECONDS = 3600

_ACCOUNTS = Resource.parse("v1/serviceaccounts")
_SECRETS = Resource.parse("v1/secrets")
_BINDINGS = Resource.parse("rbac.authorization.k8s.io/v1/clusterrolebindings")


class Account:
    """kubeconfig: for pods; it leads where that of the recorder leads, and names the file with the token. Made by
    `install`. Methods raise ApiError."""

    def __init__(self, api: BlockingApi, namespace: str, recorded: Path, directory: Path) -> None:
        """recorded: the kubeconfig that leads through the recorder."""
        self.kubeconfig = directory / "pods.kubeconfig"
        self._api = api
        self._namespace = namespace
        self._recorded = recorded
        self._token = directory / "token"
        self._number = 0

    def install(self) -> None:
        """The account, with every right, and its first token."""
        self._api.create(_ACCOUNTS, self._namespace, {"metadata": {"name": NAME}})
        subject = {"kind": "ServiceAccount", "name": NAME, "namespace": self._namespace}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
        binding = {"metadata": {"name": self._binding}, "roleRef": role, "subjects": [subject]}
        with contextlib.suppress(AlreadyExists):
            self._api.create(_BINDINGS, "", binding)
        self._issue()
        document = yaml.safe_load(self._recorded.read_text(encoding="utf-8"))
        for user in document["users"]:
            user["user"] = {"tokenFile": str(self._token)}
        self.kubeconfig.write_text(yaml.safe_dump(document), encoding="utf-8")

    def withdraw(self) -> None:
        """Its rights, which would outlive its namespace: whoever made that again would have them."""
        with contextlib.suppress(NotFound):
            self._api.delete(_BINDINGS, "", self._binding)

    def rotate(self) -> None:
        """Another token lies in the file, and that of before is refused from now on: what it was bound to is gone.

        A real server may know it for ten seconds longer, for which it remembers whom it has let in.
        """
        old = self._bound_to
        self._issue()
        self._api.delete(_SECRETS, self._namespace, old)

    @property
    def _binding(self) -> str:
        return f"{NAME}-of-{self._namespace}"

    @property
    def _bound_to(self) -> str:
        return f"{NAME}-credential-{self._number}"

    def _issue(self) -> None:
        self._number += 1
        made = self._api.create(_SECRETS, self._namespace, {"metadata": {"name": self._bound_to}})
        bound = {"kind": "Secret", "apiVersion": "v1", "name": self._bound_to, "uid": made["metadata"]["uid"]}
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"boundObjectRef": bound, "expirationSeconds": TOKEN_SECONDS},
        }
        answer = self._api.create_under(_ACCOUNTS, self._namespace, NAME, "token", request)
        # A kubelet puts another file in the place of the old one: nobody reads half of it.
        written = self._token.with_suffix(".new")
        written.touch(mode=0o600)
        written.write_text(answer["status"]["token"], encoding="utf-8")
        os.replace(written, self._token)


def account_of(target: Target) -> Account:
    """Raises TargetFailed where the pods have no credential of their own."""
    found = getattr(target, "account", None)
    if not isinstance(found, Account):
        raise TargetFailed("the pods of this target act with our own credential; write tokenFile: true, on dev or real")
    return found
