"""`POST /add-norm` gives the article's numbers, in both placements, and says what cannot be."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from starlette.testclient import TestClient

from app.replies import AddNormReply

ARTICLE = {"x": [1, 2, 3], "update": [0.5, -0.5, 1], "eps": 1e-5}


def post(client: TestClient, **body: Any) -> Any:
    reply = client.post("/api/v1/add-norm", json=body)
    assert reply.status_code == 200, reply.text
    AddNormReply.model_validate(reply.json(), strict=True)
    return reply.json()


def test_the_articles_numbers_in_post_ln(client: TestClient):
    reply = post(client, **ARTICLE)
    assert reply["placement"] == "post"
    assert reply["added"] == [1.5, 1.5, 4]
    assert reply["mean"] == pytest.approx(2.333333, abs=1e-6)
    assert reply["var"] == pytest.approx(1.388889, abs=1e-6)
    assert [round(v, 4) for v in reply["normalized"]] == [-0.7071, -0.7071, 1.4142]
    assert reply["result"] == reply["out"] == reply["normalized"]
    assert reply["steps"][:2] == ["update", "added"]


def test_the_articles_numbers_in_pre_ln(client: TestClient):
    reply = post(client, **ARTICLE, placement="pre")
    assert reply["added"] == reply["result"] == [1.5, 1.5, 4]
    # What F would have read: LayerNorm of 1, 2, 3, whose variance is 2/3.
    assert reply["mean"] == 2
    assert reply["var"] == pytest.approx(2 / 3)
    third = 1 / (2 / 3 + 1e-5) ** 0.5
    assert reply["f_input"] == pytest.approx([-third, 0, third])
    assert reply["steps"][-2:] == ["update", "added"]


def test_the_variance_is_divided_by_the_number_of_components(client: TestClient):
    reply = post(client, x=[1, 2, 3, 4], update=[0, 0, 0, 0], eps=0)
    assert (reply["mean"], reply["var"]) == (2.5, 1.25)
    assert reply["scale"] == pytest.approx(1.1180340, abs=1e-7)
    assert reply["normalized"] == pytest.approx([-1.3416408, -0.4472136, 0.4472136, 1.3416408])


def test_a_large_mean_keeps_the_small_spread(client: TestClient):
    reply = post(client, x=[40000, 40001, 40002, 40003], update=[0] * 4, eps=1e-5)
    assert (reply["mean"], reply["var"]) == (40001.5, 1.25)
    expected = [-1.3416354, -0.4472118, 0.4472118, 1.3416354]
    assert reply["normalized"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_a_matrix_is_f_in_both_placements(client: TestClient, placement: str):
    torch.manual_seed(0)
    x, bias, gamma, beta = torch.randn(4, 5, dtype=torch.float64)
    matrix = torch.randn(5, 5, dtype=torch.float64)
    reply = post(
        client,
        x=x.tolist(),
        matrix=matrix.tolist(),
        bias=bias.tolist(),
        gamma=gamma.tolist(),
        beta=beta.tolist(),
        placement=placement,
        eps=1e-3,
    )

    def norm(v: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.layer_norm(v, (5,), gamma, beta, 1e-3)

    def f(v: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(v, matrix, bias)

    expected = norm(x + f(x)) if placement == "post" else x + f(norm(x))
    assert reply["result"] == pytest.approx(expected.tolist(), abs=1e-12)


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"x": [1, 2, 3], "update": [1, 2]}, "lengths_differ", "update"),
        ({"x": [1, 2], "matrix": [[1, 2]]}, "lengths_differ", "matrix"),
        ({"x": [1, 2], "matrix": [[1, 2], [3]]}, "lengths_differ", "matrix[1]"),
        ({"x": [1, 2], "update": [1, 2], "gamma": [1]}, "lengths_differ", "gamma"),
        ({"x": [1, 2]}, "update_or_matrix", "update"),
        ({"x": [1], "update": [1], "matrix": [[1]]}, "update_or_matrix", "update"),
        ({"x": [1], "update": [1], "bias": [1]}, "bias_without_matrix", "bias"),
        ({"x": [], "update": []}, "list_too_short", "x"),
        ({"x": [0] * 4097, "update": [0]}, "list_too_long", "x"),
        ({"x": [0], "matrix": [[0]] * 65}, "list_too_long", "matrix"),
        ({"x": [1, True], "update": [1, 2]}, "wrong_type", "x[1]"),
        ({"x": [1, "2"], "update": [1, 2]}, "wrong_type", "x[1]"),
        ({"x": [1, None], "update": [1, 2]}, "wrong_type", "x[1]"),
        ({"x": 1, "update": [1]}, "wrong_type", "x"),
        ({"x": [1], "update": [1], "eps": -1}, "too_small", "eps"),
        ({"x": [1], "update": [1], "placement": "both"}, "not_one_of", "placement"),
        ({"update": [1]}, "missing_field", "x"),
    ],
)
def test_what_does_not_fit_is_refused(
    client: TestClient, refused: Callable[..., Any], body: dict[str, Any], code: str, field: str
):
    error = refused(client.post("/api/v1/add-norm", json=body), 422, code, field)
    if code == "lengths_differ":
        assert str(len(body["x"])) in error["message"]


@pytest.mark.parametrize(
    "body",
    [
        {"x": [1, 1, 1], "update": [0, 0, 0], "eps": 0},
        {"x": [1e308, -1e308], "update": [1e308, -1e308]},
        {"x": [1e200, 0], "update": [0, 0]},
    ],
)
def test_what_is_not_finite_is_null_and_flagged(
    client: TestClient, parse: Callable[[bytes], Any], body: dict[str, Any]
):
    reply = client.post("/api/v1/add-norm", json=body)
    assert reply.status_code == 200
    found = parse(reply.content)
    assert found["flags"]
    for flag in found["flags"]:
        value = found[flag["stage"]]
        assert (value if isinstance(value, list) else [value]).count(None) == flag["count"]


def test_the_longest_vectors_are_taken(client: TestClient):
    ones = [1.2345678901234567] * 4096
    reply = post(client, x=ones, update=ones, gamma=ones, beta=ones)
    assert len(reply["result"]) == 4096
