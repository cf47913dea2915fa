"""`GET /cost` is the model's count as strict JSON, and refuses what is no size."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from app.replies_lab import CostReply


def ask(client: TestClient, query: str = "") -> Any:
    reply = client.get(f"/api/v1/cost{query}")
    assert reply.status_code == 200, reply.text
    CostReply.model_validate(reply.json(), strict=True)
    return reply.json()


def test_the_papers_block_without_any_parameter(client: TestClient):
    reply = ask(client)
    assert reply["request"] == {
        "d_model": 512,
        "n_heads": 8,
        "d_mlp": 2048,
        "n_ctx": 512,
        "n_layers": 1,
        "kernel": 5,
        "radius": 64,
        "n_queries": 1,
    }
    assert reply["parameters"]["block"]["value"] == 3_152_384
    assert reply["parameters"]["perceptron"]["value"] == 68_719_476_736
    assert reply["flops"] == 3_758_096_384


def test_asking_for_the_reply_s_own_request_gives_the_same_bytes(client: TestClient):
    query = "?d_model=96&n_heads=6&d_mlp=100&n_ctx=77&n_layers=3&kernel=7&radius=5&n_queries=9"
    reply = ask(client, query + "&lang=ja")
    again = "&".join(f"{name}={value}" for name, value in reply["request"].items())
    assert f"?{again}" == query
    assert ask(client, f"?{again}") == reply


def test_the_largest_sizes_are_counted_exactly_in_float64(client: TestClient):
    reply = ask(client, "?n_ctx=4096&d_model=16384&d_mlp=65536&n_heads=256&n_layers=128&kernel=63")

    def whole_numbers(value: Any) -> list[int]:
        if isinstance(value, dict):
            # Lines of a chart need no exact numbers.
            return [n for key, part in value.items() if key != "lines" for n in whole_numbers(part)]
        if isinstance(value, list):
            return [n for part in value for n in whole_numbers(part)]
        return [value] if isinstance(value, int) and not isinstance(value, bool) else []

    numbers = whole_numbers(reply)
    assert max(numbers) > 2**50
    assert [n for n in numbers if int(float(n)) != n] == []


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("?d_modle=3", "unknown_field", "d_modle"),
        ("?d_model=512.0", "wrong_type", "d_model"),
        ("?d_model=5e2", "wrong_type", "d_model"),
        ("?d_model=５１２", "wrong_type", "d_model"),
        ("?d_model=-8", "wrong_type", "d_model"),
        ("?d_model=", "wrong_type", "d_model"),
        ("?n_ctx=0", "too_small", "n_ctx"),
        ("?n_ctx=131073", "too_large", "n_ctx"),
        ("?n_ctx=1&n_ctx=2", "duplicate_key", "n_ctx"),
        ("?n_heads=7", "heads_do_not_divide", "n_heads"),
        ("?kernel=4", "kernel_is_even", "kernel"),
        ("?n_ctx=131072&d_model=1024", "too_many_components", "n_ctx"),
    ],
)
def test_what_is_no_size_is_refused(
    client: TestClient, refused: Any, query: str, code: str, field: str
):
    refused(client.get(f"/api/v1/cost{query}"), 422, code, field)


def test_there_is_only_get(client: TestClient, refused: Any):
    refused(client.post("/api/v1/cost", json={}), 405, "method_not_allowed")
