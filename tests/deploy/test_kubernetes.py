"""The manifests of deploy/kubernetes: valid by the schemas of Kubernetes, and true of the image and the collector."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from walltime_collector.config.settings import Settings

from tests import compose
from tests.servers import Collector, over_http

KUSTOMIZE = "sigs.k8s.io/kustomize/kustomize/v5@v5.6.0"  # later ones need a newer Go
FOLDER = compose.ROOT / "deploy" / "kubernetes"
GUIDE = (compose.ROOT / "docs" / "deploy.md").read_text()
KUSTOMIZATION: dict[str, Any] = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())


@cache
def manifests() -> list[dict[str, Any]]:
    return [each for name in KUSTOMIZATION["resources"] for each in yaml.safe_load_all((FOLDER / name).read_text())]


def manifest(kind: str, name: str) -> dict[str, Any]:
    (found,) = (each for each in manifests() if (each["kind"], each["metadata"]["name"]) == (kind, name))
    return found


def pod(name: str) -> dict[str, Any]:
    spec: dict[str, Any] = manifest("StatefulSet", name)["spec"]["template"]["spec"]
    return spec


def container(name: str) -> dict[str, Any]:
    (only,) = pod(name)["containers"]
    return dict(only)


COLLECTOR = container("walltime")
IMAGE = compose.images()[compose.ROOT / "collector" / "Dockerfile"]


@pytest.mark.parametrize("version", ["1.28", "1.34", kubernetes_validate.latest_version()])
def test_every_manifest_is_valid_and_has_no_unknown_field(version: str) -> None:
    assert len(manifests()) == 9
    for each in manifests():
        kubernetes_validate.validate(each, version, strict=True)
    broken = {**manifest("Service", "walltime"), "spec": {"port": 1}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(broken, version, strict=True)


def test_the_kustomization_has_every_file_and_image() -> None:
    assert {f"{each}.yaml" for each in ("kustomization",)} | set(KUSTOMIZATION["resources"]) == {
        each.name for each in FOLDER.iterdir()
    }
    named = {image["name"]: image for image in KUSTOMIZATION["images"]}
    used = {container(each["metadata"]["name"])["image"] for each in manifests() if each["kind"] == "StatefulSet"}
    assert used == set(named)
    assert named["clickhouse/clickhouse-server"]["newTag"] == compose.dotenv()["CLICKHOUSE_VERSION"]
    assert KUSTOMIZATION["namespace"] == manifest("Namespace", "walltime")["metadata"]["name"]


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_kustomize_builds_valid_manifests_with_the_namespace_and_the_tags(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("go is not on this machine; it builds kustomize")
    environment = {**os.environ, "GOBIN": str(tmp_path), "GOFLAGS": "-mod=mod"}
    subprocess.run(["go", "install", KUSTOMIZE], env=environment, check=True, capture_output=True)
    built = subprocess.run([tmp_path / "kustomize", "build", FOLDER], check=True, capture_output=True, text=True)
    documents = list(yaml.safe_load_all(built.stdout))
    assert len(documents) == len(manifests())
    for each in documents:
        kubernetes_validate.validate(each, kubernetes_validate.latest_version(), strict=True)
        assert each["kind"] == "Namespace" or each["metadata"]["namespace"] == KUSTOMIZATION["namespace"]
    for image in KUSTOMIZATION["images"]:
        assert f"image: {image.get('newName', image['name'])}:{image['newTag']}\n" in built.stdout


def test_selectors_find_the_pods() -> None:
    labels = {
        each["metadata"]["name"]: each["spec"]["template"]["metadata"]["labels"]
        for each in manifests()
        if each["kind"] == "StatefulSet"
    }
    for each in manifests():
        spec = each.get("spec", {})
        selector = spec.get("selector") or spec.get("podSelector")
        if selector:
            selector = selector.get("matchLabels", selector)
            assert any(selector.items() <= found.items() for found in labels.values()), each["metadata"]["name"]
    for name in labels:
        headless = manifest("Service", manifest("StatefulSet", name)["spec"]["serviceName"])
        assert headless["spec"]["clusterIP"] == "None"


def test_ports_are_those_that_the_image_listens_on() -> None:
    listens = {int(port) for port in IMAGE.runs.last("EXPOSE").split()}
    named = {port["name"]: port["containerPort"] for port in COLLECTOR["ports"]}
    assert set(named.values()) == listens
    for port in manifest("Service", "walltime")["spec"]["ports"]:
        assert named[port["targetPort"]] == port["port"]
    (rule,) = manifest("NetworkPolicy", "walltime")["spec"]["ingress"]
    assert {each["port"] for each in rule["ports"]} == listens


def test_variables_are_settings_and_together_the_collector_accepts_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {each["name"]: each["value"] for each in COLLECTOR["env"]}
    assert {name.removeprefix("WALLTIME_").lower() for name in given} <= set(Settings.model_fields)
    secrets = {Path(value).name for name, value in given.items() if name.endswith("_FILE")}
    (mount,) = (each for each in COLLECTOR["volumeMounts"] if each["name"] == "secrets")
    assert all(
        Path(value).parent == Path(mount["mountPath"]) for name, value in given.items() if name.endswith("_FILE")
    )
    (key,) = (each["valueFrom"]["secretKeyRef"] for each in container("clickhouse")["env"] if "valueFrom" in each)
    created = set(re.findall(r"--from-literal=([\w-]+)=", GUIDE))
    assert created == secrets
    assert (key["name"], key["key"] in created) == ("walltime", True)
    for name, value in {**IMAGE.runs.environment(), **given}.items():
        if name.startswith("WALLTIME_"):
            (tmp_path / Path(value).name).write_text("0123456789abcdef0123")
            monkeypatch.setenv(name, str(tmp_path / Path(value).name) if name.endswith("_FILE") else value)
    settings = Settings()
    assert settings.clickhouse == f"http://clickhouse:{container('clickhouse')['ports'][0]['containerPort']}"
    assert not settings.insecure
    assert settings.secret("ingest_token")


def test_pods_run_as_the_images_user_and_may_do_little() -> None:
    (user,) = re.findall(r"--uid (\d+)", "\n".join(text for _, text in IMAGE.runs.instructions))
    security = pod("walltime")["securityContext"]
    assert {security["runAsUser"], security["runAsGroup"], security["fsGroup"]} == {int(user)}
    for name in ("walltime", "clickhouse"):
        assert pod(name)["securityContext"]["runAsNonRoot"] is True
        assert pod(name)["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod(name)["automountServiceAccountToken"] is False
        assert container(name)["securityContext"]["allowPrivilegeEscalation"] is False
        assert container(name)["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container(name)["resources"]["limits"]["memory"]
    assert COLLECTOR["securityContext"]["readOnlyRootFilesystem"] is True
    mounts = {each["mountPath"] for each in COLLECTOR["volumeMounts"]}
    assert {IMAGE.runs.last("VOLUME"), "/tmp"} <= mounts  # noqa: S108


def test_the_grace_period_is_longer_than_the_drain() -> None:
    assert pod("walltime")["terminationGracePeriodSeconds"] > Settings.model_fields["drain_s"].default + 10


class OnAllAddresses(Collector):
    options = ("--web", "0.0.0.0:0", "--http", "0.0.0.0:0", "--grpc", "0.0.0.0:0")


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    """With tokens and the names of the manifest."""
    given = {each["name"]: each["value"] for each in COLLECTOR["env"]}
    tokens = {"ingest_token": "ingest-9f1c0de5aa77", "read_token": "read-2b7e151628aed2"}
    names = given["WALLTIME_ALLOWED_HOSTS"]
    with OnAllAddresses(tmp_path_factory.mktemp("probed") / "data", allowed_hosts=names, **tokens) as running:
        yield running


@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe"])
@pytest.mark.parametrize("host", ["10.1.2.3:8464", "walltime.walltime:8464"])
def test_probes_are_answered_by_address_and_name_without_a_token(collector: Collector, probe: str, host: str) -> None:
    request = COLLECTOR[probe]["httpGet"]
    assert request["port"] == "web"
    url = f"{collector.web_url}{request['path']}"
    assert over_http("GET", url, headers={"host": host}).status_code == 200
    assert over_http("GET", url, headers={"host": "elsewhere.example"}).status_code != 200
