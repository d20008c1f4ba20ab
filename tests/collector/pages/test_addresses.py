"""Addresses of the views: every name has one, and the address is read back to the same name, window and filters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from walltime_collector.errors import BadParameter
from walltime_collector.pages import urls
from walltime_collector.pages.render import Links
from walltime_collector.pages.request import SCOPE_PARAMS, PageRequest, path_names, read
from walltime_collector.query.scope import Filters

NOW_NS = 1_800_000_000 * 10**9
MINUTE_NS = 60 * 10**9
names = st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(
    ["a/b", ".", "..", "x.json", ".json", "%2F"]
)


def asked(params: Mapping[str, str], own_params: Mapping[str, str] = {}) -> PageRequest:
    query = urlsplit(urls.address("/", params)).query.encode()
    request = Request({"type": "http", "method": "GET", "path": "/", "query_string": query, "headers": []})
    nothing: Any = None
    return read(request, nothing, path={}, own_params=own_params, now_ns=NOW_NS, is_admin=False)


@given(names, names)
def test_any_name_is_read_back_from_its_address(service: str, name: str) -> None:
    path = urlsplit(f"http://x{urls.kind(service, name)}").path
    assert not path.endswith(".json")
    assert not {".", ".."} & set(path.split("/"))
    if "%2E" not in (service, name) and "%2E%2E" not in (service, name):
        assert path_names("/kinds/{service}/{name}", path.encode()) == {"service": service, "name": name}


@pytest.mark.parametrize("path", [b"/kinds/a", b"/kinds/a/b/c", b"/kind/a/b", b"kinds/a/b", b"/"])
def test_a_path_of_another_pattern_has_no_names(path: bytes) -> None:
    assert path_names("/kinds/{service}/{name}", path) is None


def test_without_parameters_it_is_about_the_last_hour() -> None:
    request = asked({})
    assert (request.scope.window.start_ns, request.scope.window.end_ns) == (NOW_NS - 60 * MINUTE_NS, NOW_NS)
    assert (request.scope.filters, request.during, request.against) == (Filters(), None, None)
    assert request.selected == request.scope


@pytest.mark.parametrize(
    ("during", "against"),
    [("20m..10m", (60, 20)), ("50m..40m", (40, 0)), ("3h..2h", (120, 0)), ("90m..50m", (50, 0)), ("60m..0s", None)],
)
def test_a_selection_is_compared_with_the_longer_time_beside_it(during: str, against: tuple[int, int] | None) -> None:
    if during.endswith("0s"):
        during = "60m..now"
    other = asked({"during": during}).against
    minutes = other and tuple((NOW_NS - each) // MINUTE_NS for each in (other.start_ns, other.end_ns))
    assert minutes == against


def test_what_to_compare_with_can_be_said() -> None:
    request = asked({"during": "10m..5m", "against": "2h..1h"})
    assert request.against is not None
    assert request.against.start_ns == NOW_NS - 120 * MINUTE_NS


def test_an_empty_parameter_is_none_and_an_unknown_one_is_refused() -> None:
    assert asked({"user": " ", "by": "p95"}, {"by": "total"}).params["by"] == "p95"
    with pytest.raises(BadParameter, match="no such parameter"):
        asked({"by": "p95"})


def test_links_keep_time_selection_and_filters_and_leave_out_what_is_usual() -> None:
    params = {**SCOPE_PARAMS, "during": "10m..5m", "service": "shop", "version": "7", "by": "p95"}
    links = Links("/", params)
    assert links.here(during="") == "/?service=shop&version=7&by=p95"
    assert links.path("/servers") == "/servers?during=10m..5m&service=shop&version=7"
    assert links.kind("shop", "GET /") == "/kinds/shop/GET%20%2F?during=10m..5m&version=7"
