"""What readers' journeys share: the explorer opened and at rest, and the API's own numbers."""

import json
import re
import sys
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.checkpoint_folders import cf_bert, cf_gpt2, neox, scoring_gpt2, wide_bert, word_bert
from tests.conftest import serving

MINUS = "\N{MINUS SIGN}"
# Patience for a busy machine; a quick one never waits.
expect.set_options(timeout=60_000)


def at_rest(page: Page) -> None:
    expect(page.locator("#busy")).to_be_hidden()
    expect(page.locator("#card-body > *").first).to_be_attached()
    expect(page.locator("#card-body[aria-busy]")).to_have_count(0)


@pytest.fixture
def settled() -> Callable[[Page], None]:
    """`settled(page)` waits until no run and no card is on its way."""
    return at_rest


@pytest.fixture
def explore(open_page: Callable[..., Page], server: str) -> Callable[..., Page]:
    """`explore("#step=add1", lang="ja")` opens the explorer in a browser without a past."""

    def go(fragment: str = "", lang: str = "en", **options: Any) -> Page:
        size = {"viewport": {"width": 1280, "height": 860}}
        page = open_page(base_url=server, **{**size, **options})
        page.goto(f"/?lang={lang}{fragment}", wait_until="commit", timeout=120_000)
        at_rest(page)
        return page

    return go


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Base URL of a server with small folders of each wiring: bert, gpt2, neox, words, wide,
    neox-no-bias, by-layer and undivided."""
    home = tmp_path_factory.mktemp("checkpoints")
    models = home / "models"
    cf_bert(models / "bert")
    cf_gpt2(models / "gpt2")
    neox(models / "neox")
    neox(models / "neox-no-bias", attention_bias=False)
    word_bert(models / "words")
    wide_bert(models / "wide")
    scoring_gpt2(models / "by-layer", scale_attn_by_inverse_layer_idx=True)
    scoring_gpt2(models / "undivided", scale_attn_weights=False)
    command = [sys.executable, "-m", "app", "--port", "{port}", "--models", str(models)]
    with serving(command, home) as base:
        yield base


@pytest.fixture(scope="session")
def trace(server: str) -> Callable[..., dict[str, Any]]:
    """`trace(text="a", norm="pre", include=[…])`: the reply of POST /trace."""

    def post(**body: Any) -> dict[str, Any]:
        request = urllib.request.Request(
            f"{server}/api/v1/trace",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as reply:
            answer: dict[str, Any] = json.load(reply)
            return answer

    return post


def _numbers(text: str) -> list[float]:
    found = re.findall(rf"[{MINUS}-]?\d+(?:\.\d+)?(?:e[{MINUS}-]?\d+)?", text)
    return [float(one.replace(MINUS, "-")) for one in found]


@pytest.fixture
def numbers() -> Callable[[str], list[float]]:
    """All numbers in a text of the page, true minus signs included."""
    return _numbers


@pytest.fixture
def agrees() -> Callable[[str, float], bool]:
    """`agrees("−0.25", value)`: whether what is printed is the value, rounded as far as printed."""

    def check(printed: str, value: float) -> bool:
        plain = printed.replace(MINUS, "-").strip()
        mantissa, _, exponent = plain.partition("e")
        decimals = len(mantissa.partition(".")[2])
        unit = 10.0 ** (int(exponent or 0) - decimals)
        return abs(float(plain) - value) <= 0.5 * unit * (1 + 1e-6)

    return check
