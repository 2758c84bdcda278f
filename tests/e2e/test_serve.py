"""`fleet serve` as a user runs it."""

from __future__ import annotations

import json
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml
from cryptography.hazmat.primitives import serialization

from fleet.devcluster.recording.journal import decode_lines
from tests.integration.pods import FLEET, ROOT

CRD = f"{ROOT}/docs/examples/websites-crd.yaml"
WEBSITE = """
apiVersion: demo.shardfleet.dev/v1
kind: Website
metadata: {name: early}
spec: {replicas: 1, html: hello}
"""
END_SECONDS = 20.0


@contextmanager
def serving(*options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its first line on standard error, once it serves; ended by SIGTERM."""
    command = [FLEET, "serve", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        yield process, process.stderr.readline()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(END_SECONDS)
        process.communicate()


def document(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as response:
        return json.load(response)


def refused(*options: str) -> str:
    """What it says on standard error before it ends with the code of a wrong command line."""
    run = subprocess.run([FLEET, "serve", *options], capture_output=True, text=True, timeout=30, check=False)
    assert run.returncode == 2, run
    return run.stderr


def test_it_prints_a_kubeconfig_and_serves_what_was_loaded(tmp_path: Path) -> None:
    early = tmp_path / "early.yaml"
    early.write_text(WEBSITE)
    with serving("--load", CRD, "--load", str(early)) as (process, said):
        assert said.startswith("serving the Kubernetes API at http://127.0.0.1:")
        assert process.stdout is not None
        printed = "".join(iter(process.stdout.readline, "current-context: dev\n"))
        assert "kind: Config" in printed
        url = said.split(" at ")[1].split(";")[0]
        found = document(f"{url}/apis/demo.shardfleet.dev/v1/namespaces/default/websites")
        assert [item["metadata"]["name"] for item in found["items"]] == ["early"]
    assert process.returncode == 0


def test_it_writes_a_kubeconfig_that_names_the_server(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    with serving("--write-kubeconfig", str(kubeconfig)) as (_, said):
        assert str(kubeconfig) in said
        server = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
        assert document(f"{server}/api/v1/namespaces/default")["metadata"]["name"] == "default"


def test_what_is_wrong_with_a_file_is_said_in_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_text(WEBSITE)
    assert (
        "nothing serves 'Website' of 'demo.shardfleet.dev/v1'; load its CustomResourceDefinition before it"
        in refused("--load", str(file))
    )
    file.write_text("kind: ConfigMap\napiVersion: v1\nmetadata: {name: Not_A_Name}\n")
    said = refused("--load", str(file))
    assert "ConfigMap 'Not_A_Name'" in said
    assert "is refused" in said
    file.write_text("just text")
    assert "is no object with apiVersion and kind" in refused("--load", str(file))
    assert "cannot read" in refused("--load", str(tmp_path / "absent.yaml"))


def test_a_port_that_is_taken_is_named_and_the_kubeconfig_stays(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("of another server")
    with serving() as (_, said):
        port = said.split(":")[2].split(";")[0]
        told = refused("--port", port, "--write-kubeconfig", str(kubeconfig))
        assert told.startswith(f"fleet: --port: 127.0.0.1:{port} is in use")
    assert kubeconfig.read_text() == "of another server"


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_quietly_although_somebody_watches(tmp_path: Path, signum: signal.Signals) -> None:
    journal = tmp_path / "journal.jsonl"
    with serving("--journal", str(journal)) as (process, said):
        url = said.split(" at ")[1].split(";")[0]
        with urllib.request.urlopen(f"{url}/api/v1/namespaces?watch=true", timeout=END_SECONDS) as watch:
            assert json.loads(watch.readline())["type"] == "ADDED"
            process.send_signal(signum)
            assert process.wait(END_SECONDS) == 0
            watch.read()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert [entry.verb for entry in decode_lines(journal.read_bytes())] == ["watch"]


def test_a_write_through_one_front_end_is_seen_through_the_other(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    with serving("--front-ends", "2", "--write-kubeconfig", str(kubeconfig)):
        config = yaml.safe_load(kubeconfig.read_text())
        assert [context["name"] for context in config["contexts"]] == ["dev", "dev-2"]
        one, other = (cluster["cluster"]["server"] for cluster in config["clusters"])
        body = json.dumps({"metadata": {"name": "a"}}).encode()
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{one}/api/v1/namespaces", body, headers), timeout=10):
            assert document(f"{other}/api/v1/namespaces/a")["metadata"]["name"] == "a"
    assert "several front ends have a port each" in refused("--front-ends", "2", "--port", "8001")


def test_a_fault_moves_the_clients_of_one_front_end_to_another(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    with serving("--front-ends", "3", "--write-kubeconfig", str(kubeconfig)):
        clusters = yaml.safe_load(kubeconfig.read_text())["clusters"]
        urls = {cluster["name"]: cluster["cluster"]["server"] for cluster in clusters}
        fault = json.dumps({"fault": "stale_replica", "replica": "dev"}).encode()
        inject = urllib.request.Request(f"{urls['dev-3']}/-/faults", fault, {"Content-Type": "application/json"})
        with urllib.request.urlopen(inject, timeout=10) as response:
            assert response.status == 201
        document(f"{urls['dev-3']}/api/v1/namespaces")
        with urllib.request.urlopen(f"{urls['dev']}/metrics", timeout=10) as response:
            assert b'resource="namespaces"' in response.read()


def test_with_a_token_others_are_refused_and_the_journal_tells(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    with serving("--admin-token", "secret", "--journal", str(journal), "--load", CRD) as (_, said):
        url = said.split(" at ")[1].split(";")[0]
        with pytest.raises(urllib.error.HTTPError, match="403"):
            document(f"{url}/api/v1/namespaces")
        request = urllib.request.Request(f"{url}/api/v1/namespaces", headers={"Authorization": "Bearer secret"})
        with urllib.request.urlopen(request, timeout=10) as response:
            assert response.status == 200
    lists = [entry.status for entry in decode_lines(journal.read_bytes()) if entry.verb == "list"]
    assert lists == [403, 200]


def test_over_tls_clients_that_trust_the_certificate_are_served(tmp_path: Path) -> None:
    certificate, key, kubeconfig = tmp_path / "tls.crt", tmp_path / "tls.key", tmp_path / "kubeconfig"
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    certificate.write_bytes(issued.cert_chain_pems[0].bytes() + authority.cert_pem.bytes())
    key.write_bytes(issued.private_key_pem.bytes())
    options = ("--certificate", str(certificate), "--key", str(key), "--write-kubeconfig", str(kubeconfig))
    with serving(*options, "--admin-token", "secret"):
        config = yaml.safe_load(kubeconfig.read_text())
        cluster = config["clusters"][0]["cluster"]
        context = ssl.create_default_context(cafile=cluster["certificate-authority"])
        headers = {"Authorization": f"Bearer {config['users'][0]['user']['token']}"}
        request = urllib.request.Request(f"{cluster['server']}/api/v1/namespaces", headers=headers)
        with urllib.request.urlopen(request, timeout=10, context=context) as response:
            assert response.status == 200
    assert "give --certificate and --key together" in refused("--certificate", str(certificate))
    assert "are no certificate and its key" in refused("--certificate", str(key), "--key", str(key))
    loaded = serialization.load_pem_private_key(key.read_bytes(), None)
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    key.write_bytes(loaded.private_bytes(pem, pkcs8, serialization.BestAvailableEncryption(b"secret")))
    assert f"--key: {key} is encrypted" in refused("--certificate", str(certificate), "--key", str(key))
    absent = tmp_path / "absent"
    assert f"--key: cannot read {absent}" in refused("--certificate", str(certificate), "--key", str(absent))
