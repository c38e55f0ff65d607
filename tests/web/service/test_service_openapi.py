"""The document at /openapi.json is valid, complete, and what the service does: a fuzzer finds no difference."""

import json
from collections import Counter

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.thorough import one_in
from truegrade.web.application import decode
from truegrade.web.messages import GradeRequest, Refusal
from truegrade.web.service.grading_application import ROUTES


@pytest.fixture(scope="module")
def document(service):
    with service.http() as client:
        return client.get("/openapi.json").json()


def test_every_reference_resolves_and_every_schema_is_one(document):
    schemas = document["components"]["schemas"]
    text = json.dumps(document)
    for part in text.split('"#/components/schemas/')[1:]:
        assert part.partition('"')[0] in schemas
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {route.path for route in ROUTES}


def test_answers_fit_their_schemas(document, http, doubling):
    def validate(kind, value):
        whole = {**document["components"]["schemas"][kind], "components": document["components"]}
        jsonschema.Draft202012Validator(whole).validate(value)

    texts = [{"text": "```python\ndef double(x):\n    return 2 * x\n```"}, {"text": ""}]
    validate("GradeResponse", http.post("/v1/grade", json={"problem": doubling, "completions": texts}).json())
    validate("RewardResponse", http.post("/v1/reward", json={"problem": doubling, "completions": texts}).json())
    validate("RunCodeResponse", http.post("/run_code", json={"code": "1", "language": "python"}).json())
    validate("ProblemDetails", http.post("/run_code", json={}).json())
    validate("Profiles", http.get("/v1/profiles").json())


@given(st.binary(max_size=200) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["completions", "text", "problem", "task", "type"]) | st.text(), inner),
).map(lambda value: json.dumps(value).encode()))  # fmt: skip
def test_whatever_a_body_holds_it_is_read_or_refused(body):
    try:
        request = decode(body, GradeRequest)
    except Refusal as refusal:
        assert refusal.status in (400, 422)
        assert refusal.detail
        assert (refusal.field is None) == (refusal.status == 400)
        assert msgspec.json.encode(refusal.problem)
    else:
        assert decode(msgspec.json.encode(request), GradeRequest) == request


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "examples"), one_in(3, [("POSITIVE", 4), ("POSITIVE", 15), ("NEGATIVE", 15)]))
def test_a_fuzzer_finds_no_difference_between_document_and_service(service, mode, examples):
    """Of schemathesis' checks all but one: the schema cannot say which names of benchmarks exist."""
    schemathesis = pytest.importorskip("schemathesis", reason="the fuzzer is not installed")
    from hypothesis import HealthCheck, Phase, settings
    from schemathesis.specs.openapi.checks import positive_data_acceptance

    headers = {"Authorization": f"Bearer {service.token}"}
    schema = schemathesis.openapi.from_url(f"{service.address}/openapi.json", headers=headers)
    asked = Counter()

    def fuzz(case):
        asked[case.operation.path] += 1
        case.call_and_validate(headers=headers, timeout=60, excluded_checks=[positive_data_acceptance])

    for found in schema.get_all_operations():
        operation = found.ok()
        if mode == "NEGATIVE" and operation.method.upper() == "GET":
            continue  # nothing can be wrong about it
        cases = operation.as_strategy(generation_mode=schemathesis.GenerationMode[mode])
        settings(
            max_examples=examples, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )(given(case=cases)(fuzz))()  # fmt: skip
    posts = [route.path for route in ROUTES if route.method == "POST"]
    assert all(asked[path] >= examples for path in posts)
    assert mode == "NEGATIVE" or len(asked) == len(ROUTES) - 1  # all but the document itself
