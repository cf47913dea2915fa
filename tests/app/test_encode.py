"""Tensors become bytes without loss, or with exactly the loss that was asked for."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from app.encode import Format, compress, round_significant, tensor_fields, to_json

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(FLOATS, min_size=1, max_size=50), st.integers(1, 8))
def test_rounding_agrees_with_decimal_formatting(values: list[float], digits: int):
    rounded = round_significant(np.array(values, np.float32), digits)
    assert rounded.tolist() == [float(f"{value:.{digits - 1}e}") for value in values]


@pytest.mark.parametrize("digits", range(1, 9))
def test_rounding_holds_next_to_powers_of_ten(digits: int):
    powers = np.float32(10.0) ** np.arange(-44, 38, dtype=np.float32)
    values = np.concatenate([powers, np.nextafter(powers, np.float32(0)), -powers])
    expected = [float(f"{value:.{digits - 1}e}") for value in values.tolist()]
    assert round_significant(values, digits).tolist() == expected


@given(st.lists(FLOATS, min_size=1, max_size=50))
def test_text_reads_back_as_the_same_float32(values: list[float]):
    tensor = torch.tensor(values)
    read = json.loads(to_json({"a": tensor}))["a"]
    assert torch.equal(torch.tensor(read), tensor)


def test_what_is_not_finite_is_null():
    tensor = torch.tensor([1.0, torch.nan, torch.inf, -torch.inf])
    assert to_json([tensor, float("nan")]) == b"[[1.0,null,null,null],null]"
    assert to_json([tensor], digits=3) == b"[[1.0,null,null,null]]"


def test_views_and_scalars_are_written_as_they_look():
    tensor = torch.arange(6.0).view(2, 3)
    assert to_json(tensor.T) == b"[[0.0,3.0],[1.0,4.0],[2.0,5.0]]"
    assert to_json(tensor[1, 2]) == b"5.0"
    assert to_json(tensor[:0]) == b"[]"


def test_base64_is_little_endian_float32_or_a_byte_of_a_share():
    how = Format("base64")
    assert tensor_fields(torch.tensor([1.0, -2.0]), how)["base64"] == "AACAPwAAAMA="
    shares = tensor_fields(torch.tensor([0.0, 0.5, 1.0]), Format("base64", dtype="uint8"))
    assert shares == {"dtype": "uint8", "base64": "AID/"}


def test_compression_gives_the_same_bytes_each_time():
    assert compress(b"a" * 1000) == compress(b"a" * 1000)


def test_a_single_number_has_its_bytes_too():
    half = torch.tensor(0.5)
    assert tensor_fields(half, Format("base64"))["base64"] == "AAAAPw=="
    assert tensor_fields(half, Format("base64", dtype="uint8"))["base64"] == "gA=="
