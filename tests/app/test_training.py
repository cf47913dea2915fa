"""`GET /models/{id}/training`: the record that ships with the twins, and who has none."""

import pytest
from starlette.testclient import TestClient

from app.main import create_app
from app.replies_training import TrainingReply
from model.twins import weights


@pytest.fixture(scope="module")
def client():
    with TestClient(create_app(), base_url="http://localhost") as client:
        yield client


def test_the_record_is_the_shipped_one_and_of_the_documented_shape(client: TestClient):
    reply = client.get("/api/v1/models/twin/training")
    assert reply.status_code == 200
    assert reply.json() == weights.training_record()
    TrainingReply.model_validate(reply.json(), strict=True)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_series_of_a_run_has_one_length(client: TestClient, norm: str):
    run = client.get("/api/v1/models/twin/training").json()["runs"][norm]
    series = run["record"]
    moments = len(series["steps"])
    assert series["steps"] == sorted(set(series["steps"]))
    for name in ("rate", "loss", "gradient", "previous_token", "induction", "repeated_first"):
        assert len(series[name]) == moments, name
    for losses in series["held_out"].values():
        assert len(losses) == moments
    assert {len(parts) for parts in series["gradient"]} == {len(series["parts"])}
    assert ("ln_final" in series["parts"]) == (norm == "pre")


@pytest.mark.parametrize(
    ("model", "code"), [("textbook", "no_training_record"), ("nobody", "unknown_model")]
)
def test_a_model_without_a_record_is_a_404_that_says_which(
    client: TestClient, model: str, code: str
):
    reply = client.get(f"/api/v1/models/{model}/training")
    assert reply.status_code == 404
    assert reply.json()["error"]["code"] == code
    assert reply.json()["error"]["params"]["model"] == model
