"""The description of the endpoints, and schemathesis, which sends what it says is right and what it says is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.labelling.conftest import Place

from likewise.labelling.api import Labelling
from likewise.labelling.server import create_app

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")


def test_the_description_names_every_endpoint(ann: TestClient) -> None:
    described = ann.get("/openapi.json").json()
    assert sorted(described["paths"]) == [
        "/api/answers",
        "/api/contradictions",
        "/api/groups/merge",
        "/api/groups/{group}",
        "/api/history",
        "/api/items/{item}",
        "/api/items/{item}/image",
        "/api/learn",
        "/api/progress",
        "/api/question",
        "/api/session",
    ]
    for path in described["paths"].values():
        for operation in path.values():
            assert {"200", "401", "422", "429"} <= {*operation["responses"]}


def test_nothing_that_schemathesis_sends_breaks_the_server(place: Place) -> None:
    from hypothesis import HealthCheck, Phase, given, settings

    here: Labelling = place.start()
    here.learner.start = lambda store: None  # type: ignore[method-assign]  # a run of its own takes seconds
    app = create_app(here)
    headers = {"host": "localhost", "cookie": f"{here.door.cookie_name}={here.door.cookie('ann')}"}
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers={"host": "localhost"})
    checks = [
        schemathesis.checks.not_a_server_error,
        schemathesis.checks.response_schema_conformance,
        schemathesis.checks.status_code_conformance,
        schemathesis.checks.content_type_conformance,
    ]
    seen: set[Any] = set()
    for result in schema.get_all_operations():
        operation = result.ok()

        @settings(
            max_examples=12,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def send(case: Any) -> None:
            response = case.call(headers=headers)
            seen.add((case.path, response.status_code))
            case.validate_response(response, checks=checks)

        send()
    assert {path for path, status in seen if status == 200} >= {"/api/session", "/api/question", "/api/answers"}
    here.session.store.close()
