"""Pure parts of the page of heads: what is left out or joined, lines, order, relations, ranges."""

from typing import Any

import pytest

DISPLAY = "views/heads/display.js"


def tokens(*ids: int, special: tuple[int, ...] = (), parts: tuple[int, ...] = ()) -> list[Any]:
    """Tokens of these ids; `parts`: positions that are pieces of one character, in order."""
    return [
        {
            "index": i,
            "id": id_,
            "label": f"t{id_}",
            "text": "猫" if i in parts else f"t{id_}",
            "special": i in special,
            "part": parts.index(i) + 1 if i in parts else None,
            "parts": len(parts) if i in parts else None,
        }
        for i, id_ in enumerate(ids)
    ]


def shown(call: Any, values: Any, words: Any, **options: Any) -> Any:
    return call(
        DISPLAY,
        """m => {
          const d = m.displayed(rows, words, options);
          return { ...d, at: [0, 1, 2, 3].map(d.at), given: rows };
        }""",
        rows=values,
        words=words,
        options={"stage": "softmax", **options},
    )


def test_hidden_special_tokens_leave_rows_that_add_up_to_one_and_data_as_they_were(call: Any):
    values = [[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]]
    found = shown(call, values, tokens(0, 7, 8, special=(0,)), hide=True)
    assert [sum(row) for row in found["values"]] == pytest.approx([1, 1])
    assert found["values"][1] == pytest.approx([0.375, 0.625])
    assert (found["labels"], found["positions"]) == (["t7", "t8"], [1, 2])
    assert found["renormalised"] is True
    assert found["at"] == [None, 0, 1, None]
    assert found["given"] == values


def test_a_row_of_which_nothing_is_left_stays_empty(call: Any):
    found = shown(call, [[1, 0], [1, 0]], tokens(0, 7, special=(0,)), hide=True)
    assert found["values"] == [[None]]


def test_without_special_tokens_hiding_them_changes_nothing(call: Any):
    values = [[1, 0], [0.25, 0.75]]
    found = shown(call, values, tokens(1, 2), hide=True)
    assert found["values"] == values and found["renormalised"] is False


def test_joined_pieces_add_keys_and_average_queries(call: Any):
    values = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.1, 0.2, 0.7, 0], [0.1, 0.2, 0.3, 0.4]]
    found = shown(call, values, tokens(1, 2, 3, 4, parts=(1, 2)), merge=True)
    assert found["labels"] == ["t1", "猫", "t4"]
    assert found["positions"] == [0, 1, 3]
    assert found["values"][1] == pytest.approx([0.3, 0.7, 0])
    assert found["values"][2] == pytest.approx([0.1, 0.5, 0.4])
    assert found["at"] == [0, 1, 1, 2]


def test_scores_are_never_joined_or_divided(call: Any):
    values = [[3, None, None], [1, 2, None], [4, 5, 6]]
    words = tokens(0, 2, 3, special=(0,), parts=(1, 2))
    found = shown(call, values, words, stage="masked", hide=True, merge=True)
    assert found["values"] == [[2, None], [5, 6]]
    assert found["renormalised"] is False


def test_later_keys_are_blank_under_a_causal_mask_except_where_scores_come_before_it(call: Any):
    words = tokens(1, 2)
    shares = shown(call, [[1, 0], [0.5, 0.5]], words, causal=True)
    assert shares["values"] == [[1, None], [0.5, 0.5]]
    dots = shown(call, [[1, 2], [3, 4]], words, stage="dot", causal=True)
    assert dots["values"] == [[1, 2], [3, 4]]


def test_a_logarithmic_range_ends_where_the_range_ends(call: Any):
    found = call(
        DISPLAY,
        "m => [1, 0.01, 0.0001, 0.00001, 0, 2].map(m.logarithmic(1)).concat(m.lowest(1))",
    )
    assert found == pytest.approx([1, 0.5, 0, 0, 0, 1, 0.0001])


def test_a_large_picture_keeps_the_largest_of_the_cells_it_joins(call: Any):
    found = call(
        DISPLAY,
        """m => {
          const bytes = new Uint8Array(25); bytes[0] = 9; bytes[24] = 7; bytes[6] = 11;
          const small = m.pooled(bytes, 5, 3);
          const same = m.pooled(bytes, 5, 5).bytes === bytes;
          return { ...small, bytes: [...small.bytes], same };
        }""",
    )
    assert found == {"bytes": [11, 0, 0, 0, 0, 0, 0, 0, 7], "size": 3, "factor": 2, "same": True}


@pytest.mark.parametrize(
    ("i", "j", "first", "expected"),
    [
        (4, 4, None, "self"),
        (3, 1, None, "induction"),  # ids 5 6 7 5: position 1 follows the earlier 5
        (3, 0, None, "same_token"),
        (2, 1, None, "previous_token"),
        (1, 2, None, "next_token"),
        (2, 0, None, "special_share"),
        (2, 0, "first_token", "first_token"),
        (4, 2, None, "other"),
    ],
)
def test_a_key_is_told_by_where_it_stands(
    call: Any, i: int, j: int, first: str | None, expected: str
):
    words = tokens(5, 6, 7, 5, 8, special=(0,))
    found = call(DISPLAY, "m => m.relation(words, i, j, first)", words=words, i=i, j=j, first=first)
    assert found == expected


def test_lines_join_each_query_with_the_keys_it_reads_most(call: Any):
    values = [[1, None, None], [0.3, 0.7, None], [0.2, 0.005, 0.795]]
    found = call(
        "figures/head_lines.js",
        "m => m.headLines({ values: rows, range: 1, most: 2 })",
        rows=values,
    )
    pairs = [(line["query"], line["key"]) for line in found["lines"]]
    assert pairs == [(2, 0), (1, 0), (1, 1), (2, 2), (0, 0)], "weak lines lie under strong ones"
    assert found["left_out"] == 1
    assert found["height"] == 84
    assert found["lines"][0]["y1"] == 70 and found["lines"][0]["y2"] == 14
    partners = call(
        "figures/head_lines.js",
        """m => [['query', 1], ['key', 0]]
          .map(([side, at]) => m.partners({ values: rows }, side, at))""",
        rows=values,
    )
    assert [one["other"] for one in partners[0]] == [1, 0]
    assert [one["other"] for one in partners[1]] == [0, 1, 2]


def head(label: str, value: float | None, names: list[str] | None = None) -> dict[str, Any]:
    layer, number = label[1:].split("H")
    metric = {"value": value, "chance": 0.1}
    every = ("induction", "entropy", "previous_token", "same_token", "next_token")
    return {
        "label": label,
        "layer": int(layer),
        "head": int(number),
        "names": names or [],
        "metrics": dict.fromkeys(every, metric),
    }


def test_heads_without_the_figure_come_last_in_every_order(call: Any):
    heads = [head("L0H0", 0.2), head("L0H1", None), head("L1H0", 0.9)]
    order = "m => m.ordered(heads, { metric, sort: 'value' }, null).map(({label}) => label)"
    module = "views/heads/metrics.js"
    assert call(module, order, heads=heads, metric="induction") == ["L1H0", "L0H0", "L0H1"]
    # Of the spread, the most concentrated is first.
    assert call(module, order, heads=heads, metric="entropy") == ["L0H0", "L1H0", "L0H1"]


def test_filters_keep_heads_of_a_block_and_of_a_name(call: Any):
    heads = [head("L0H0", 0.9, ["self"]), head("L0H1", 0.2), head("L1H0", 0.9, ["induction"])]
    kept = "m => m.filtered(heads, { only, named }).map(({label}) => label)"

    def labels(only: int | None, named: str | None) -> Any:
        return call("views/heads/metrics.js", kept, heads=heads, only=only, named=named)

    assert labels(None, None) == ["L0H0", "L0H1", "L1H0"]
    assert labels(0, None) == ["L0H0", "L0H1"]
    assert labels(None, "any") == ["L0H0", "L1H0"]
    assert labels(None, "none") == ["L0H1"]
    assert labels(1, "self") == []


def test_the_head_to_open_is_the_clearest_that_copies_or_looks_back_else_the_first(call: Any):
    opened = "m => m.clearest(heads).label"
    plain = [head("L0H0", 0.1), head("L0H1", 0.9, ["first_token"])]
    assert call("views/heads/metrics.js", opened, heads=plain) == "L0H0"
    copying = [*plain, head("L1H0", 0.6, ["induction"]), head("L1H1", 0.7, ["induction"])]
    assert call("views/heads/metrics.js", opened, heads=copying) == "L1H1"
