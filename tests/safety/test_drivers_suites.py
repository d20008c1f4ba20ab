"""
The suites of PyMySQL and pymemcache themselves: with Walltime on and a transaction active, each of their tests ends as
it does without us.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

import pymemcache
import pymysql
import pytest
from shop.services import MariaDB, Memcached

from tests.sdk.sink import Sink

ROOT = Path(__file__).parents[2]

WITHOUT_FAKER = "--ignore=pymemcache/test/test_compression.py"
"""The one file of pymemcache's suite that needs another library."""
SEES_THE_COMMENT = {"pymysql.tests.test_issues.TestNewIssues.test_issue_36"}
"""Looks in the server's process list for the exact text of its own statement, where our comment is as well."""

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(900)]


def compare(package: Path, sink: Sink, *arguments: str) -> Counter[str]:
    """Run the suite without and with us; return how its tests ended, which is the same."""
    without = outcomes(package, *arguments)
    said = package.with_name("said.json")
    plugin = ("-p", "tests.safety.under_walltime")
    environment = {"WALLTIME_SAID": str(said), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint}
    ours = outcomes(package, *plugin, *arguments, **environment)
    ended = Counter(without.values())
    counters = json.loads(said.read_text(encoding="utf-8"))
    keys = {key for span in sink.transactions() for key in span.attributes}
    components = sorted(key[len("walltime.") : -len(".calls")] for key in keys if key.endswith(".calls"))
    print(f"{package.name}: {dict(ended)} without us, {dict(Counter(ours.values()))} with us; {counters}; {components}")
    differences = {test for test in without | ours if without.get(test) != ours.get(test)}
    assert {test: (without.get(test), ours.get(test)) for test in differences - SEES_THE_COMMENT} == {}
    assert not [name for name in counters if name.startswith("failed_")]
    assert components
    return ended


def outcomes(package: Path, *arguments: str, **environment: str) -> dict[str, str]:
    report = package.with_name("report.xml")
    report.unlink(missing_ok=True)
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "-o", "filterwarnings="),
        *(f"--junitxml={report}", *arguments),
    ]
    path = os.pathsep.join([str(package.parent), *filter(None, sys.path), str(ROOT)])
    subprocess.run(
        command,
        cwd=package.parent,
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        check=False,
    )
    ended: dict[str, str] = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314  # pytest has just written it
        kinds = [child.tag for child in case if child.tag in {"failure", "error", "skipped"}]
        ended[f"{case.get('classname')}.{case.get('name')}"] = kinds[0] if kinds else "passed"
    return ended


def source_distribution(requirement: str, folder: Path) -> Path:
    """Unpack it; skip where it cannot be had."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", requirement]
    if subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False).returncode != 0:
        pytest.skip(f"cannot fetch the source of {requirement}: {' '.join(command)}")
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    (unpacked,) = [path for path in folder.iterdir() if path.is_dir()]
    return unpacked


def test_pymemcaches_own_suite(tmp_path: Path, memcached: tuple[Memcached, Memcached], sink: Sink) -> None:
    source = source_distribution(f"pymemcache=={pymemcache.__version__}", tmp_path)
    server = ("--server=127.0.0.1", f"--port={memcached[0].port}")
    kinds = ("-m", "unit or integration")
    ended = compare(source / "pymemcache", sink, "pymemcache/test", *server, *kinds, WITHOUT_FAKER)
    assert ended["passed"] > 400


def test_pymysqls_own_suite(tmp_path: Path, mariadb: MariaDB, sink: Sink) -> None:
    """Its source distribution is without the tests, so they are taken from a checkout of its repository."""
    checkout = Path(os.environ.get("PYMYSQL_CHECKOUT", "missing"))
    if not (checkout / "pymysql" / "tests").is_dir():
        pytest.skip(f"git clone its repository at v{pymysql.__version__} and set PYMYSQL_CHECKOUT to the folder")
    package = tmp_path / "pymysql"
    shutil.copytree(Path(pymysql.__file__).parent, package)
    shutil.copytree(checkout / "pymysql" / "tests", package / "tests")
    admin = {"host": "127.0.0.1", "port": mariadb.port, "user": "admin", "password": mariadb.admin_password}
    databases = [{**admin, "database": name, "use_unicode": True, "local_infile": True} for name in ("test1", "test2")]
    with mariadb.admin() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE test1")
        cursor.execute("CREATE DATABASE test2")
    (package / "tests" / "databases.json").write_text(json.dumps(databases), encoding="utf-8")
    ended = compare(package, sink, "pymysql/tests")
    assert ended["passed"] > 100
