"""What is imported to read a configuration, and that nobody else in the process is given less of the library."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


def told_by(program: str) -> list[str]:
    """Lines that a process of its own prints: what it imports is not what this one has."""
    command = [sys.executable, "-c", textwrap.dedent(program)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


class TestImports:
    def test_neither_clients_nor_what_only_they_need_are_imported_to_read_a_configuration(self) -> None:
        imported = told_by(
            """
            import sys
            from shards.transport.lean_kubernetes import import_config
            import_config()
            from kubernetes.aio.config import kube_config, load_incluster_config
            print(*sys.modules, sep="\\n")
            """
        )
        assert "kubernetes.aio.config.kube_config" in imported
        unwanted = {"kubernetes.client", "kubernetes.aio.client.api_client", "kubernetes.aio.dynamic"}
        unwanted |= {"pydantic", "oauthlib", "requests", "urllib3", "websocket"}
        assert unwanted & set(imported) == set()

    def test_threads_that_read_configurations_at_the_same_time_find_it_imported_whole(self) -> None:
        assert told_by(
            """
            import sys, threading
            from concurrent.futures import ThreadPoolExecutor
            from shards.transport.lean_kubernetes import import_config
            sys.setswitchinterval(1e-6)
            together = threading.Barrier(8)
            def read(_):
                together.wait()
                import_config()
                return sys.modules["kubernetes.aio.config"].load_kube_config_from_dict.__name__
            with ThreadPoolExecutor(8) as threads:
                print(*set(threads.map(read, range(8))))
            """
        ) == ["load_kube_config_from_dict"]

    @pytest.mark.parametrize("before", [True, False])
    def test_an_author_finds_the_whole_library_whoever_imports_it_first(self, before: bool) -> None:
        ours = "from shards.transport.lean_kubernetes import import_config; import_config()"
        theirs = "import kubernetes.aio.client"
        first, second = (theirs, ours) if before else (ours, theirs)
        assert told_by(
            f"""
            {first}
            {second}
            import kubernetes
            from kubernetes import client, watch
            from kubernetes.aio import config, dynamic
            from kubernetes.aio.client import CoreV1Api, V1Pod
            print(client.CoreV1Api.__module__, kubernetes.aio.client.CoreV1Api.__module__)
            print(V1Pod.__module__, kubernetes.__version__ == client.__version__, type(kubernetes.aio.client).__name__)
            print(config.kube_config.Configuration is kubernetes.aio.client.Configuration)
            print(kubernetes.aio.client.ApiClient.__module__)
            """
        ) == [
            "kubernetes.client.api.core_v1_api kubernetes.aio.client.api.core_v1_api",
            "kubernetes.aio.client.models.v1_pod True module",
            "True",
            "kubernetes.aio.client.api_client",
        ]

    def test_a_client_that_the_configuration_makes_is_the_library_s(self) -> None:
        assert told_by(
            """
            import asyncio
            from shards.transport.lean_kubernetes import import_config
            import_config()
            from kubernetes.aio.config import kube_config
            from kubernetes.aio import client

            async def made():
                async with kube_config.ApiClient(configuration=client.Configuration(host="http://here")) as one:
                    print(isinstance(one, client.ApiClient), one.configuration.host)

            asyncio.run(made())
            """
        ) == ["True http://here"]

    def test_a_name_that_the_library_does_not_have_is_missed_as_ever(self) -> None:
        assert (
            told_by(
                """
            from shards.transport.lean_kubernetes import import_config
            import_config()
            import kubernetes.aio
            for _ in range(2):
                print(hasattr(kubernetes.aio, "nothing"), hasattr(kubernetes.aio, "__nothing__"))
            """
            )
            == ["False False"] * 2
        )
