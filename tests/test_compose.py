"""docker-compose.yml holds together: every path, port, variable and service name in it exists where it points."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from compose_spec import PyCompose
from shop.settings import Settings as ShopSettings
from walltime.settings.settings import Settings as SdkSettings
from walltime_collector.config.settings import Settings

from tests import compose
from tests.compose import ROOT

SERVICES = compose.services()
OUR_OWN = [
    name for name, service in SERVICES.items() if service.get("image") in {"walltime-collector", "walltime-shop"}
]
LISTENS = {
    "clickhouse": {8123},
    "grafana": {3000},
    "mysql": {3306},
    "memcached-1": {11211},
    "memcached-2": {11211},
}
"""Ports of other people's images; those of our own are read from their settings and commands."""


def listens(name: str) -> set[int]:
    if name in LISTENS:
        return LISTENS[name]
    service = SERVICES[name]
    said = [*compose.environment(service).values(), *compose.command(service)]
    return {int(port) for each in said for port in re.findall(r"^(?:--bind=)?0\.0\.0\.0:(\d+)$", each)}


def addresses() -> Iterator[tuple[str, str, int]]:
    """Every (service, host, port) that something in the file names."""
    for name, service in SERVICES.items():
        said = [*service.get("environment", {}).values(), *service.get("command", [])]
        for each in said:
            for host, port in re.findall(r"\b([a-z][\w.-]*):(\d{2,5})\b", str(each)):
                yield name, host, int(port)


def test_the_file_is_valid_compose() -> None:
    parsed = yaml.safe_load(compose.interpolated(compose.text(), compose.dotenv()))
    PyCompose.from_yaml(yaml.safe_dump(parsed)).validate()
    for wrong in ({"restrat": "always"}, {"depends_on": {"mysql": {"condition": "service_helthy"}}}):
        broken = {**parsed, "services": {**SERVICES, "shop": {**SERVICES["shop"], **wrong}}}
        with pytest.raises(ValueError, match=r"restrat|service_helthy"):
            PyCompose.from_yaml(yaml.safe_dump(broken)).validate()


def test_every_variable_has_a_value_and_every_value_is_used() -> None:
    used = set(re.findall(r"(?<!\$)\$\{(\w+)\}", compose.text()))
    assert used == set(compose.dotenv())
    assert all(compose.dotenv().values())


def test_images_are_pinned_to_a_version() -> None:
    pulled = [service["image"] for service in SERVICES.values() if "build" not in service]
    bases = [stage.base for image in compose.images().values() for stage in image.stages]
    for image in pulled + bases:
        assert re.fullmatch(r"[a-z/-]+:\d+\.\d+[\w.-]*", image), image
    for image in compose.images().values():
        assert {name: compose.dotenv()[name] for name in image.arguments} == image.arguments


def test_ports_are_published_on_loopback_alone_and_lead_to_somebody_who_listens() -> None:
    published = [(name, port) for name, service in SERVICES.items() for port in service.get("ports", [])]
    assert {name for name, _ in published} == {"clickhouse", "collector", "grafana", "shop"}
    for name, port in published:
        found = re.fullmatch(r"127\.0\.0\.1:(\d+):(\d+)", port)
        assert found, f"{name}: {port}"
        assert int(found[2]) in listens(name), f"{name}: {port}"
    outside = [port.split(":")[1] for _, port in published]
    assert len(set(outside)) == len(outside)


def test_every_address_names_a_service_and_a_port_it_listens_on() -> None:
    found = list(addresses())
    assert {host for _, host, _ in found} >= {
        "clickhouse",
        "collector",
        "memcached-1",
        "memcached-2",
        "shop",
        "supplier",
    }
    for name, host, port in found:
        assert host in SERVICES, f"{name} names {host}"
        assert port in listens(host), f"{name} names {host}:{port}"
    shop, grafana = SERVICES["shop"]["environment"], SERVICES["grafana"]["environment"]
    assert int(shop["SHOP_MYSQL_PORT"]) in listens(shop["SHOP_MYSQL_HOST"])
    assert int(grafana["WALLTIME_CLICKHOUSE_PORT"]) in listens(grafana["WALLTIME_CLICKHOUSE_HOST"])


def waits_for(name: str, path: tuple[str, ...] = ()) -> set[str]:
    """All that has to be there before the service starts."""
    assert name not in path, f"in a circle: {path}"
    found = set()
    for other, said in SERVICES[name].get("depends_on", {}).items():
        if said["condition"] == "service_healthy":
            assert compose.health_command(SERVICES[other]), f"{name} waits for {other}, which has no health check"
        found |= {other, *waits_for(other, (*path, name))}
    return found


def test_who_waits_for_another_can_see_that_it_is_ready() -> None:
    assert waits_for("load") == set(SERVICES) - {"load", "grafana"}
    assert waits_for("grafana") == {"clickhouse"}
    for name in ("collector", "shop"):
        assert {host for user, host, _ in addresses() if user == name} <= waits_for(name)


def test_what_a_health_check_asks_is_what_its_service_listens_on() -> None:
    for name, service in SERVICES.items():
        said = " ".join(compose.health_command(service))
        asked = {int(port) for port in re.findall(r"127\.0\.0\.1(?::|', | )(\d+)", said)}
        assert asked <= listens(name), f"{name}: {said}"
        assert asked or not said or "mysqladmin" in said, f"{name}: {said}"
        assert service["restart"] in {"unless-stopped", "on-failure"}


def test_mounts_exist_here_and_named_volumes_are_declared_and_used() -> None:
    declared = set(yaml.safe_load(compose.text())["volumes"])
    named = set()
    for name, service in SERVICES.items():
        for mount in service.get("volumes", []):
            source, target, *mode = mount.split(":")
            assert target.startswith("/"), f"{name}: {mount}"
            if source.startswith("./"):
                assert (ROOT / source).exists(), f"{name}: {mount}"
                assert mode == ["ro"], f"{name} could write to {source}"
            else:
                named.add(source)
    assert named == declared


def test_the_slow_log_is_where_mysql_writes_it_and_the_collector_reads_it() -> None:
    mysql, collector = SERVICES["mysql"], SERVICES["collector"]
    options = dict(option.removeprefix("--").split("=", 1) for option in mysql["command"] if "=" in option)
    _, _, path = collector["environment"]["WALLTIME_SLOW_LOG"].rpartition("=")
    assert path == options["slow-query-log-file"]
    assert options["slow-query-log"] == options["log-slow-extra"] == "ON"
    folder = str(Path(path).parent)
    assert f"mysql-log:{folder}" in mysql["volumes"]
    assert f"mysql-log:{folder}:ro" in collector["volumes"]
    made = (ROOT / mysql["build"]["context"] / "Dockerfile").read_text()
    assert f"chown {collector['group_add'][0]}:{collector['group_add'][0]} {folder}" in made


@pytest.mark.parametrize("path", compose.images(), ids=str)
def test_what_a_dockerfile_copies_is_there_and_not_ignored(path: Path) -> None:
    ignored: list[str] = []
    kept: list[str] = []
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if line and not line.startswith("#"):
            (kept if line.startswith("!") else ignored).append(line.removeprefix("!"))
    assert ignored[0] == "*"
    is_whole = path.parent != ROOT / SERVICES["mysql"]["build"]["context"]  # its context is its own folder
    context = ROOT if is_whole else path.parent
    for stage in compose.images()[path].stages:
        for instruction, said in stage.instructions:
            sources = said.split()[:-1]
            if instruction == "COPY" and not sources[0].startswith("--from"):
                for source in sources:
                    assert (context / source).exists(), source
                    named = str((context / source).relative_to(ROOT))
                    assert any(named == each or named.startswith(f"{each}/") for each in kept), f"{named} is ignored"
                    assert not any(fnmatch.fnmatch(named, each) for each in ignored[1:])
            elif instruction == "COPY":
                assert sources[0].removeprefix("--from=") in {each.name for each in compose.images()[path].stages}


@pytest.mark.parametrize("name", OUR_OWN)
def test_our_own_run_as_somebody_who_may_do_little(name: str) -> None:
    image = compose.image(SERVICES[name])
    assert image is not None
    assert len(image.stages) == 2
    assert image.runs.last("USER") not in {"", "root", "0"}
    assert image.runs.last("STOPSIGNAL")
    assert image.runs.last("HEALTHCHECK")
    assert not any(instruction == "RUN" and "pip" in said for instruction, said in image.runs.instructions)
    assert SERVICES[name]["read_only"] is True
    assert SERVICES[name]["cap_drop"] == ["ALL"]


class Asked(Mapping[str, str]):
    """An environment that remembers what was asked of it."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def test_every_variable_given_to_our_own_is_one_they_read() -> None:
    asked = Asked()
    ShopSettings.from_environment(asked)
    read = {
        "walltime-collector": {f"WALLTIME_{name.upper()}" for name in Settings.model_fields},
        "walltime-shop": asked.names
        | {variable for each in fields(SdkSettings) for variable in each.metadata["variables"]}
        | {"OTEL_RESOURCE_ATTRIBUTES"},
    }
    for name in OUR_OWN:
        ours = {each for each in compose.environment(SERVICES[name]) if not each.startswith(("PYTHON", "PATH"))}
        assert ours <= read[SERVICES[name]["image"]], name
        assert ours


def test_grafana_is_given_what_its_provisioning_asks_for() -> None:
    grafana = SERVICES["grafana"]
    folder = ROOT / "dashboards" / "provisioning"
    source = (folder / "datasources" / "walltime.yaml").read_text()
    provider = yaml.safe_load((folder / "dashboards" / "walltime.yaml").read_text())["providers"][0]
    path = provider["options"]["path"].removeprefix("$")
    given = {name for name in grafana["environment"] if name.startswith("WALLTIME_")}
    assert {*re.findall(r"\$(\w+)", source), path} == given
    plugin = yaml.safe_load(source)["datasources"][0]["type"]
    assert grafana["environment"]["GF_PLUGINS_PREINSTALL_SYNC"].startswith(f"{plugin}@")
    assert f"./dashboards/generated:{grafana['environment'][path]}:ro" in grafana["volumes"]
    assert list((ROOT / "dashboards" / "generated").glob("*.json"))
    for each in folder.iterdir():
        mounted = f"./dashboards/provisioning/{each.name}:/etc/grafana/provisioning/{each.name}:ro"
        assert each.is_file() or mounted in grafana["volumes"]


def test_grafanas_user_may_read_walltimes_database_and_no_more() -> None:
    told: dict[str, Any] = SERVICES["grafana"]["environment"]
    users = ElementTree.parse(ROOT / "dashboards" / "clickhouse_user.xml").getroot()  # noqa: S314  # our own file
    user = users.find(f"users/{told['WALLTIME_CLICKHOUSE_USER']}")
    assert user is not None
    assert [grant.text for grant in user.findall("grants/query")] == [
        f"GRANT SELECT ON {told['WALLTIME_CLICKHOUSE_DATABASE']}.*"
    ]
    assert told["WALLTIME_CLICKHOUSE_DATABASE"] == Settings.model_fields["database"].default
    profile = users.find(f"profiles/{user.findtext('profile')}")
    assert profile is not None
    assert profile.findtext("readonly") == "2"
    # the plugin asks for its own timeout, a minute, and five seconds; more than the maximum is refused, not cut
    assert int(profile.findtext("constraints/max_execution_time/max") or 0) >= 65
    password = user.find("password")
    assert password is not None
    server = SERVICES["clickhouse"]["environment"]
    assert server[password.attrib["from_env"]] == told["WALLTIME_CLICKHOUSE_PASSWORD"]
    collector = SERVICES["collector"]["environment"]
    assert server["CLICKHOUSE_USER"] == collector["WALLTIME_CLICKHOUSE_USER"]
    assert server["CLICKHOUSE_PASSWORD"] == collector["WALLTIME_CLICKHOUSE_PASSWORD"]


def test_the_shop_has_the_account_that_mysql_makes() -> None:
    made, told = SERVICES["mysql"]["environment"], SERVICES["shop"]["environment"]
    for name in ("USER", "PASSWORD", "DATABASE"):
        assert made[f"MYSQL_{name}"] == told[f"SHOP_MYSQL_{name}"]


@pytest.mark.parametrize("name", ["collector", "shop", "build"])
def test_the_images_install_what_is_tested(name: str) -> None:
    # without the marker: a package for old Pythons here may be for all of them there
    tested = {line.split(" ;")[0] for line in (ROOT / "requirements" / "dev.txt").read_text().splitlines()}
    written = (ROOT / "requirements" / f"{name}.txt").read_text().splitlines()
    pinned = [line.removesuffix(" \\") for line in written if not line.startswith("    --hash=")]
    assert pinned
    assert [line for line in pinned if line.split(" ;")[0] not in tested] == []
    assert not any(re.search(r"https?://|--index|--find-links", line) for line in pinned)
    needs = {"collector": "collector", "shop": "sdk"}.get(name)
    if needs:
        asked = re.findall(r'^    "([\w-]+)[><=;]', (ROOT / needs / "pyproject.toml").read_text(), re.MULTILINE)
        assert asked
        assert {each.lower() for each in asked} <= {line.split("==")[0] for line in pinned}
