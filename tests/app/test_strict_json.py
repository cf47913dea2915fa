"""Bodies are read as the standard has JSON, and what is refused is named."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.strict_json import MAX_DEPTH, JsonFault, parse

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_whatever_json_can_say_comes_back(value: object):
    assert parse(json.dumps(value).encode()) == value
    assert parse(json.dumps(value, ensure_ascii=False).encode()) == value


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        (b'{"eps": NaN}', "not_finite", "eps"),
        (b'{"eps": -Infinity}', "not_finite", "eps"),
        (b'{"eps": 1e400}', "not_finite", "eps"),
        (b'{"a": [1, {"b": [2, -1e999]}]}', "not_finite", "a[1].b[1]"),
        (b"[NaN]", "not_finite", "[0]"),
        (b"NaN", "not_finite", None),
        (b'{"seed": 1' + b"0" * 5000 + b"}", "integer_too_large", "seed"),
        (b'{"seed": 18446744073709551617}', "integer_too_large", "seed"),
        (rb'{"text": "\ud83d"}', "lone_surrogate", "text"),
        (rb'{"text": "A \ude00 B"}', "lone_surrogate", "text"),
        (rb'{"text": ["\ud83d"]}', "lone_surrogate", "text[0]"),
        (rb'{"\ud83d": 1, "text": "A"}', "lone_surrogate", r"\ud83d"),
        (rb'{"config": {"\ud83d": 1}}', "lone_surrogate", r"config.\ud83d"),
        (b'{"text": "A", "text": "B"}', "duplicate_key", "text"),
        (b'{"config": {"seed": 1, "seed": 1}}', "duplicate_key", "config.seed"),
        (b"", "malformed_json", None),
        (b"{", "malformed_json", None),
        (b"{'text': 'A'}", "malformed_json", None),
        (b'{"text": "A",}', "malformed_json", None),
        (b'{"text": "\xff"}', "malformed_json", None),
        (b'\xef\xbb\xbf{"text": "A"}', "malformed_json", None),
        ('{"text": "A"}'.encode("utf-16"), "malformed_json", None),
        (b'{"text": "a\nb"}', "malformed_json", None),
        (b'{"text": "A"} {}', "malformed_json", None),
    ],
)
def test_what_is_not_strict_json_is_refused_by_name(body: bytes, code: str, field: str | None):
    with pytest.raises(JsonFault) as fault:
        parse(body)
    assert (fault.value.code, fault.value.field) == (code, field)


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 500, 100_000])
def test_deep_nesting_is_refused(opening: bytes, depth: int):
    closing = {b"[": b"]", b'{"a":': b"}"}[opening]
    with pytest.raises(JsonFault) as fault:
        parse(opening * depth + b"1" + closing * depth)
    assert fault.value.code == "nested_too_deeply"


def test_nesting_up_to_the_limit_is_read():
    assert parse(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)


def test_a_proper_pair_of_surrogates_is_one_character():
    assert parse(rb'{"text": "\ud83d\ude00"}') == {"text": "😀"}
