"""The calls that look closer at a run: their replies as documented, numbers and refusals."""

import base64
import struct
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel
from starlette.testclient import TestClient

from app.replies_analysis import (
    CompareReply,
    HeadsReply,
    LedgerReply,
    LensReply,
    RepetitionReply,
    UnitsReply,
)

TINY = {"d_model": 64, "n_layers": 2, "n_heads": 4, "d_mlp": 128}
TEXT = "the cat sat on the mat"

Ask = Callable[..., Any]

REPLIES: dict[str, type[BaseModel]] = {
    "heads": HeadsReply,
    "heads/induction": RepetitionReply,
    "units": UnitsReply,
    "lens": LensReply,
    "ledger": LedgerReply,
    "compare": CompareReply,
}


@pytest.fixture(scope="session")
def ask(client: TestClient, parse: Callable[[bytes], Any]) -> Ask:
    """`ask("heads", layer=0, pos=1)`: the reply of a small random model, its shape checked."""

    def run(call: str, **fields: Any) -> Any:
        text = {} if call == "heads/induction" else {"text": TEXT}
        model = {} if call == "compare" else {"model": "textbook", "config": TINY}
        reply = client.post(f"/api/v1/{call}", json={**text, **model, **fields})
        assert reply.status_code == 200, reply.text
        found = parse(reply.content)
        REPLIES[call].model_validate(found, strict=True)
        return found

    return run


ONE_RUN: list[tuple[str, dict[str, Any]]] = [
    ("heads", {"layer": 1, "pos": 3}),
    ("heads", {"layer": 0, "pos": 0, "head": 2}),
    ("units", {"layer": 0, "pos": 3}),
    ("units", {"layer": 1, "unit": 0, "top_k": 2}),
    ("lens", {"pos": 3}),
    ("ledger", {"pos": 3}),
    ("ledger", {"pos": 3, "state": "blocks.0.resid_mid", "direction": {"dimension": 5}}),
    ("ledger", {"pos": 1, "direction": {"point": "blocks.0.attn.result", "index": [2, 1]}}),
]


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize(("call", "fields"), ONE_RUN)
def test_the_request_that_a_reply_echoes_gives_the_same_reply(
    ask: Ask, client: TestClient, call: str, fields: dict[str, Any], norm: str
):
    first = ask(call, norm=norm, **fields)
    again = client.post(f"/api/v1/{call}", json=first["request"])
    assert again.status_code == 200, again.text
    assert again.json() == first
    assert [check for check in first["checks"] if not check["ok"]] == []


@pytest.mark.parametrize(
    ("call", "fields"), [ONE_RUN[0], ONE_RUN[2], ("lens", {"pos": 1}), ("ledger", {"pos": 1})]
)
def test_these_calls_take_the_fields_of_a_trace(ask: Ask, call: str, fields: dict[str, Any]):
    include = ["blocks.0.attn_out[1]", {"points": "blocks.*.attn.pattern", "encoding": "base64"}]
    reply = ask(call, include=include, verify=True, digits=3, **fields)
    assert list(reply["tensors"]) == [
        "blocks.0.attn_out[1]",
        "blocks.0.attn.pattern",
        "blocks.1.attn.pattern",
    ]
    assert reply["not_checked"] == []
    assert {"plain_run", "torch_block"} <= {check["name"] for check in reply["checks"]}
    assert reply["request"]["include"][0] == "blocks.0.attn_out[1]"


def test_heads_agree_with_the_tensors_of_the_same_reply(ask: Ask):
    include = ["blocks.1.attn.result[3]", "blocks.1.attn.pattern[:,3]", "blocks.1.attn_out[3]"]
    reply = ask("heads", layer=1, pos=3, head=1, include=include)
    result, pattern, _ = (tensor["values"] for tensor in reply["tensors"].values())
    for head, write, weights in zip(reply["heads"], result, pattern, strict=True):
        length = sum(x * x for x in write) ** 0.5
        assert head["write_length"] == pytest.approx(length, rel=1e-5)
        assert head["weights"] == pytest.approx(weights, rel=1e-6)
    row = reply["maps"]["weighted_lengths"][3]
    assert row == pytest.approx(reply["heads"][1]["weighted_lengths"], rel=1e-5)
    assert sum(head["share"] for head in reply["heads"]) == pytest.approx(1, abs=1e-4)
    assert (reply["logit_effect"], reply["reason"]) == (None, "no_unembedding")
    assert reply["checks"][-1]["name"] == "heads_writes"


def test_numbers_keep_the_digits_that_were_asked_for(ask: Ask):
    reply = ask("ledger", pos=2, digits=2)
    for part in reply["parts"]:
        assert part["length"] == float(f"{part['length']:.2g}")


def test_parts_of_a_ledger_total_the_state(ask: Ask):
    for norm in ("post", "pre"):
        reply = ask("ledger", pos=4, norm=norm, include=["blocks.1.out[4]"])
        assert reply["request"]["state"] == ("blocks.1.out" if norm == "post" else "ln_final.out")
        assert sum(part["share"] for part in reply["parts"]) == pytest.approx(1, abs=1e-5)
        assert reply["error"] < 1e-5
        kinds = {part["kind"] for part in reply["parts"]}
        assert kinds == {"embed", "pos_embed", "head", "mlp", "bias", "beta"}
        held = [scale["norm"] for scale in reply["frozen_scales"]]
        assert len(held) == (4 if norm == "post" else 1)
        assert reply["depth"][0]["shares"].keys() == {"embed", "pos_embed"}


def test_without_an_unembedding_the_lens_says_why(ask: Ask):
    reply = ask("lens", pos=0)
    assert (reply["states"], reply["token"], reply["reason"]) == (None, None, "no_unembedding")


def test_repeated_random_tokens_name_no_head_of_a_random_model(ask: Ask):
    reply = ask("heads/induction", segment=20, rows=2, norm="pre")
    assert [head["names"] for head in reply["heads"]] == [[]] * 8
    assert reply["request"]["segment"] == 20
    assert (reply["tokens"], reply["losses"]) == (40, None)
    again = ask("heads/induction", **{k: v for k, v in reply["request"].items() if k != "config"})
    assert again == reply


def both(**config: Any) -> list[dict[str, Any]]:
    run = {"model": "textbook", "config": {**TINY, **config}}
    return [{**run, "norm": "post"}, {**run, "norm": "pre"}]


def test_a_comparison_holds_both_summaries_and_their_difference(ask: Ask, tiny: Ask):
    reply = ask("compare", runs=both())
    for run, norm in zip(reply["runs"], ("post", "pre"), strict=True):
        assert run == {**tiny(TEXT, norm=norm), "tensors": {}}
    assert reply["request"]["runs"][1]["norm"] == "pre"
    points = {point["point"]: point for point in reply["difference"]["points"]}
    assert points["embed_sum"]["largest"] == 0
    assert points["blocks.1.out"]["relative"] > 0
    n = len(reply["runs"][0]["tokens"])
    assert all(len(p["cosine"]) == n for p in points.values() if p["cosine"] is not None)
    assert len(reply["difference"]["heads"]) == 8
    assert reply["difference"]["reason"] == "no_unembedding"


def test_difference_tensors_come_in_text_and_bytes(ask: Ask):
    entry = "blocks.0.resid_mid[2]"
    text = ask("compare", runs=both(), include=[entry])["tensors"][entry]
    coded = ask("compare", runs=both(), include=[entry], encoding="base64")["tensors"][entry]
    data = base64.b64decode(coded["base64"])
    assert list(struct.unpack(f"<{len(data) // 4}f", data)) == pytest.approx(text["values"])
    assert text["axes"] == ["d_model"] and len(text["values"]) == 64


def test_a_glob_gives_the_difference_of_every_point_that_it_matches(ask: Ask):
    reply = ask("compare", runs=both(), include=["blocks.*.attn_out[0]", "embed_sum[:,1]"])
    assert list(reply["tensors"]) == [
        "blocks.0.attn_out[0]",
        "blocks.1.attn_out[0]",
        "embed_sum[:,1]",
    ]
    assert [run["tensors"] for run in reply["runs"]] == [{}, {}]


Refused = Callable[..., dict[str, Any]]


@pytest.mark.parametrize(
    ("call", "fields", "code", "field"),
    [
        ("heads", {"pos": 0}, "missing_field", "layer"),
        ("heads", {"layer": -1, "pos": 0}, "too_small", "layer"),
        ("heads", {"layer": True, "pos": 0}, "wrong_type", "layer"),
        ("heads", {"layer": 2, "pos": 0}, "no_such_index", "layer"),
        ("heads", {"layer": 0, "pos": 999}, "no_such_index", "pos"),
        ("heads", {"layer": 0, "pos": 0, "head": 4}, "no_such_index", "head"),
        ("heads", {"layer": 0, "pos": 0, "top_k": 1}, "unknown_field", "top_k"),
        ("units", {"layer": 0}, "pos_or_unit", None),
        ("units", {"layer": 0, "pos": 0, "unit": 0}, "pos_or_unit", None),
        ("units", {"layer": 0, "unit": 128}, "no_such_index", "unit"),
        ("units", {"layer": 0, "pos": 0, "top_k": 51}, "too_large", "top_k"),
        ("lens", {"pos": 0, "token": 10**9}, "no_such_index", "token"),
        ("ledger", {"pos": 0, "state": "blocks.0.attn.q"}, "not_a_state", "state"),
        ("ledger", {"pos": 0, "direction": {}}, "one_direction", "direction"),
        ("ledger", {"pos": 0, "direction": {"token": 1}}, "no_unembedding", "direction.token"),
        (
            "ledger",
            {"pos": 0, "direction": {"point": "embed"}},
            "not_a_vector",
            "direction.index",
        ),
        (
            "ledger",
            {"pos": 0, "direction": {"point": "embed", "index": [1, 2, 3]}},
            "list_too_long",
            "direction.index",
        ),
        ("heads/induction", {"segment": 129}, "too_large", "segment"),
        ("heads/induction", {"segment": 128, "config": {"n_ctx": 64}}, "text_too_long", "segment"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_its_field(
    client: TestClient,
    refused: Refused,
    call: str,
    fields: dict[str, Any],
    code: str,
    field: str | None,
):
    text = {} if call == "heads/induction" else {"text": TEXT}
    body = {**text, "model": "textbook", "config": TINY, **fields}
    refused(client.post(f"/api/v1/{call}", json=body), 422, code, field)


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"runs": both()[:1]}, "list_too_short", "runs"),
        ({"runs": [*both(), *both()]}, "list_too_long", "runs"),
        ({"runs": [{"mode": "x"}, {}]}, "unknown_field", "runs[0].mode"),
        ({"runs": both(), "include": ["ln_final.out"]}, "unknown_point", "include"),
        (
            {
                "runs": both(),
                "include": [
                    {"points": "blocks.0.attn.pattern", "encoding": "base64", "dtype": "uint8"}
                ],
            },
            "uint8_is_for_patterns",
            "include[0]",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_with_its_field(
    client: TestClient, refused: Refused, fields: dict[str, Any], code: str, field: str
):
    reply = client.post("/api/v1/compare", json={"text": TEXT, **fields})
    refused(reply, 422, code, field)


def test_an_unknown_model_of_a_comparison_is_not_found(client: TestClient, refused: Refused):
    body = {"text": TEXT, "runs": [{"model": "nothing"}, {}]}
    refused(client.post("/api/v1/compare", json=body), 404, "unknown_model", "model")
