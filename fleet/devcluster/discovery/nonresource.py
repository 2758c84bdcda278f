"""What paths that name no object answer: discovery, OpenAPI documents, health, version."""

from __future__ import annotations

from fleet.devcluster.discovery.discovery import discovery_answer, group_versions
from fleet.devcluster.discovery.wellknown import HEALTH_PATHS, health_answer, paths_answer, version_answer
from fleet.devcluster.kinds.resources import Registry
from fleet.devcluster.openapi.documents import OpenApi
from fleet.devcluster.printing.accept import YAML, check_json
from fleet.devcluster.printing.showing import show_as_yaml
from fleet.devcluster.wire import statuses
from fleet.devcluster.wire.answers import JSON, Answer
from fleet.devcluster.wire.requests import Request


class NonResource:
    """Answers from the registry as it is at that moment."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._openapi = OpenApi(registry)

    def answer(self, request: Request) -> Answer:
        """Raises StatusError 404, 406."""
        path = request.path
        root, _, rest = path.strip("/").partition("/")
        if not path.startswith("/") or path.startswith("//") or path == "/apis//":
            raise statuses.no_such_path()
        if root in ("api", "apis"):
            answer = Answer(200, *discovery_answer(self._registry, request.path, request.accept))
            if answer.content_type == YAML:
                show_as_yaml(answer)
            return answer
        if root == "openapi" and not path.endswith("/"):
            return self._openapi.answer(request)
        if root in HEALTH_PATHS and not path.endswith("/"):
            return Answer(200, *health_answer(request))
        if root == "version":
            if rest:
                raise statuses.no_such_resource()
            if request.method == "GET":
                check_json(request.accept)
            return Answer(200, version_answer(), JSON)
        if not root:
            return Answer(200, paths_answer(self._paths()), JSON)
        raise statuses.no_such_path()

    def _paths(self) -> set[str]:
        found = {"/api", "/api/v1", "/apis", "/apis/"}
        for group, versions in group_versions(self._registry).items():
            if group:
                found |= {f"/apis/{group}", *(f"/apis/{group}/{version}" for version in versions)}
        return found
