"""The state in the URL's fragment: what is written reads back, what is malformed is left out."""

from typing import Any

import pytest

FULL = {
    "text": "猫が😀好き。 a&b=c#d +1 %",
    "pair": "二つ目",
    "model": "twin",
    "size": "paper",
    "norm": "pre",
    "weights": "post",
    "layer": 3,
    "head": 7,
    "position": 0,
    "step": "attn.scaled",
    "depth": "formula",
    "dim": 17,
}


def test_every_part_of_the_state_survives_the_fragment(call: Any) -> None:
    assert call("state.js", "m => m.parseFragment('#' + m.formatFragment(s))", s=FULL) == FULL


@pytest.mark.parametrize(
    "fragment",
    [
        "#layer=-1&head=1.5&position=1e3&dim=x",
        "#norm=both&weights=none&depth=deep&step=<img>",
        "#step=a.b.c&constructor=1&__proto__=2&layer=99999999",
        "#layer=",
        "",
    ],
)
def test_malformed_parts_are_left_out(call: Any, fragment: str) -> None:
    assert call("state.js", "m => m.parseFragment(f)", f=fragment) == {}


def test_what_is_unset_is_not_written(call: Any) -> None:
    written = call("state.js", "m => m.formatFragment({...m.EXPLORER_EMPTY, text: 'a'})")
    assert written == "text=a&layer=0&head=0&step=add1&depth=words"


def test_listeners_hear_only_what_changed(call: Any) -> None:
    heard = call(
        "state.js",
        """m => {
            const store = m.createStore({ layer: 1 });
            const heard = [];
            store.listen((state, changed) => heard.push([state.layer, [...changed]]));
            store.set({ layer: 1 });
            store.set({ layer: 2, head: 0 });
            return heard;
        }""",
    )
    assert heard == [[2, ["layer"]]]
