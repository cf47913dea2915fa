"""Charts drawn by the real library from replies written out here: labels, rows, sizes, exports."""

import struct
import urllib.parse
from base64 import b64decode
from typing import Any
from xml.etree import ElementTree

import pytest

DRAW = """async (m) => {
    const { draw } = await import('/static/js/plot.js');
    document.querySelector('#area')?.remove();
    const area = document.createElement('div');
    area.id = 'area';
    area.style.width = `${width ?? 900}px`;
    document.body.append(area);
    const n = labels.length;
    const row = (i) => Array.from({length: n}, (_, j) => (i * n + j + 1) / (n * n));
    const values = given ?? Array.from({length: n}, (_, i) => row(i));
    const words = {query: 'query', key: 'key', value: 'weight'};
    await draw(area, m.pattern({
        values, kind: 'sequential', range: 1, labels, chosen: 1, decimals: 2, words,
    }));
    const ticks = (axis) => [...area.querySelectorAll(`.${axis}axislayer-above .${axis}tick text`)];
    return {
        z: area.calcdata[0][0].z,
        x: ticks('x').map((node) => node.textContent),
        y: ticks('y').map((node) => node.textContent),
        bold: area.querySelectorAll('[style*="bold"], .xtick tspan, .ytick tspan').length,
        hover: area.data[0].customdata?.flat() ?? null,
        titles: area.layout.annotations.map((one) => one.text),
        plot: [area._fullLayout._size.w, area._fullLayout._size.h],
        types: [area._fullLayout.xaxis.type, area._fullLayout.yaxis.type],
        yRange: area._fullLayout.yaxis.range,
        tops: ticks('y').map((node) => node.getBoundingClientRect().top),
        width: area.querySelector('.main-svg').getBoundingClientRect().width,
        new: document.querySelectorAll('img, script[src*="x"], svg[onload]').length,
    };
}"""


@pytest.fixture
def drawn(call: Any) -> Any:
    """`drawn(labels)`: the head's map of these tokens, as the library drew it."""

    def draw(labels: list[str], values: Any = None, width: int | None = None) -> dict[str, Any]:
        found: dict[str, Any] = call(
            "figures/pattern.js", DRAW, labels=labels, given=values, width=width
        )
        return found

    return draw


def test_repeated_tokens_keep_their_own_rows_and_columns(drawn: Any) -> None:
    labels = ["the", "cat", "the", "cat"]
    found = drawn(labels)
    assert found["x"] == found["y"] == labels
    assert [round(v * 16) for row in found["z"] for v in row] == list(range(1, 17))
    assert found["hover"][3] == ["the", "cat", 0, 3]


@pytest.mark.parametrize(
    "text", ["1 2 10", "007 7", "-1 1e1 0x64", "NaN Infinity true null", "2020-01-01 12:30 $5 %"]
)
def test_numbers_dates_and_words_of_programs_stay_labels(drawn: Any, text: str) -> None:
    labels = text.split(" ")
    found = drawn(labels)
    assert found["x"] == found["y"] == labels
    assert found["types"] == ["linear", "linear"]


def test_angle_brackets_and_entities_show_as_typed(drawn: Any) -> None:
    labels = ["<b>bold</b>", "a<b", "&lt;b&gt;", "x<br>y", "&amp;", "<sup>2</sup>"]
    found = drawn(labels)
    assert found["x"] == found["y"] == labels
    assert found["bold"] == 0


def test_a_script_in_a_token_never_becomes_an_element(drawn: Any, call: Any) -> None:
    labels = [
        "<img src=x onerror=window.PWN=1>",
        "<svg/onload=window.PWN=1>",
        '"><script>window.PWN=1</script>',
        "$x$",
    ]
    found = drawn(labels)
    assert found["new"] == 0
    assert call("format.js", "() => window.PWN ?? null") is None
    assert [label[:5] for label in found["y"]] == [label[:5] for label in labels]


def test_blank_tokens_keep_their_tick_and_the_size_of_the_plot(drawn: Any) -> None:
    found = drawn(["a", "\n", "\n", " "])
    assert len(found["x"]) == len(found["y"]) == 4
    assert all(label.strip() for label in found["x"] + found["y"])
    assert found["plot"] == drawn(["a", "b", "c", "d"])["plot"]
    assert len(drawn(["a", "", "", ""])["y"]) == 4


def test_the_first_query_is_on_top_and_the_axes_are_named(drawn: Any) -> None:
    found = drawn(["A", "B", "A"], [[1, 0, 0], [0.5, 0.5, 0], [0.3, 0.3, 0.4]])
    assert found["tops"] == sorted(found["tops"])
    assert found["yRange"] == [2.5, -0.5]
    assert found["z"][0] == [1, 0, 0]
    assert {"query", "key"} <= set(found["titles"])


@pytest.mark.parametrize("n", [2, 40, 128, 200])
def test_cells_are_square_and_fit_the_width(drawn: Any, n: int) -> None:
    found = drawn([f"t{i}" for i in range(n)], width=600)
    width, height = found["plot"]
    assert abs(width - height) < 1.5
    assert found["width"] == 600
    if n <= 40:
        assert len(found["x"]) == n


def test_a_long_japanese_label_is_cut_with_a_sign(drawn: Any) -> None:
    long = "吾輩は猫である名前はまだ無い"
    assert drawn([long, "猫"])["y"] == ["吾輩は猫である名前はま…", "猫"]


HIDDEN = """async () => {
    const { draw, purge, alive } = await import('/static/js/plot.js');
    const { strips } = await import('/static/js/figures/strips.js');
    const box = document.createElement('div');
    box.style.cssText = 'width: 700px; display: none';
    const area = document.createElement('div');
    box.append(area);
    document.body.append(box);
    const figure = strips({
        strips: [{name: 'x', values: [1, -2, 3]}], range: 3, chosen: 0, words: {component: 'i'},
    });
    const widths = [];
    const width = async () => {
        await new Promise((resolve) => setTimeout(resolve, 300));
        widths.push(area.querySelector('.main-svg')?.getBoundingClientRect().width ?? 0);
    };
    const drawing = draw(area, figure);
    await width();
    box.style.display = 'block';
    await drawing;
    await width();
    box.style.width = '390px';
    await width();
    const before = alive();
    purge(box);
    return { widths, ended: [before - alive(), area.childElementCount] };
}"""


def test_a_chart_drawn_while_hidden_gets_its_width_when_shown_and_follows_it(call: Any) -> None:
    found = call("format.js", HIDDEN)
    assert found["widths"] == [0, 700, 390]
    assert found["ended"] == [1, 0]


STRIPS = """async (m) => {
    const { draw } = await import('/static/js/plot.js');
    const area = document.createElement('div');
    area.style.width = '600px';
    document.body.append(area);
    const rows = [['x', [1, 2, -3]], ['<i>F</i>(x)', [0.5, -0.5, 1]], ['sum', [1.5, 1.5, -2]]];
    await draw(area, m.strips({
        strips: rows.map(([name, values], i) => ({name, values, factor: i === 1 ? 2 : 1})),
        range: 3, chosen: 2, words: {component: 'component'},
    }));
    return {
        z: area.calcdata.map(([one]) => one.z[0]),
        axis: [area._fullLayout.coloraxis.cmin, area._fullLayout.coloraxis.cmax],
        shared: area.data.map((one) => one.coloraxis),
        frames: area.layout.shapes.map((shape) => (shape.x0 + shape.x1) / 2),
        true_values: area.data[1].customdata[0],
    };
}"""


def test_the_strips_of_an_add_are_one_figure_on_one_colour_axis(call: Any) -> None:
    found = call("figures/strips.js", STRIPS)
    assert found["axis"] == [-3, 3]
    assert found["shared"] == ["coloraxis"] * 3
    assert found["frames"] == [2, 2, 2]
    assert found["z"] == [[1, 2, -3], [1, -1, 2], [1.5, 1.5, -2]]
    assert found["true_values"] == [0.5, -0.5, 1], "hover tells the value, not its enlargement"


EXPORT = """async (m) => {
    const { exportPicture } = await import('/static/js/plot.js');
    const figure = m.pattern({
        values: [[1, null], [0.25, 0.75]], kind: 'sequential', range: 1, labels: ['猫', '<b>'],
        chosen: 0, decimals: 2,
        words: {query: '見る側', key: '見られる側', value: '割合'},
    });
    const options = {title: 'L0H0 <i>', width: 600};
    return Promise.all(['svg', 'png'].map((format) => exportPicture(figure, {format, ...options})));
}"""


def test_exports_carry_labels_name_and_fonts_for_japanese(call: Any) -> None:
    svg_address, png_address = call("figures/pattern.js", EXPORT)
    svg = urllib.parse.unquote(svg_address.split(",", 1)[1])
    texts = {
        "".join(node.itertext())
        for node in ElementTree.fromstring(svg).iter()
        if node.tag.endswith("}text")
    }
    assert {"猫", "<b>", "L0H0 <i>", "見る側", "見られる側"} <= texts
    assert "Noto Sans CJK JP" in svg
    assert "sans-serif" in svg
    png = b64decode(png_address.split(",", 1)[1])
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">I", png[16:20])[0] == 1200


HISTOGRAM = """async (m) => {
    const { draw } = await import('/static/js/plot.js');
    const area = document.createElement('div');
    area.style.width = '800px';
    document.body.append(area);
    const values = Array.from({length: 64}, (_, i) => Math.sin(i * 1.7) * 3 + 5);
    const mean = values.reduce((a, b) => a + b) / 64;
    const deviation = Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / 64);
    const normalized = values.map((v) => (v - mean) / deviation);
    await draw(area, m.distributions({
        stages: [
            {title: 'before', values, mean, deviation, colour: 'stream'},
            {title: 'after', values: normalized, mean: 0, deviation: 1, colour: 'norm'},
        ],
        words: {components: 'components'},
    }));
    const lines = area.layout.shapes.filter((s) => s.type === 'line').map((s) => s.x0);
    return { counts: area.calcdata.map((bars) => bars.map((bar) => bar.s)), lines, mean };
}"""


def test_normalising_keeps_the_shape_of_the_distribution(call: Any) -> None:
    found = call("figures/distributions.js", HISTOGRAM)
    before, after = found["counts"]
    assert sum(before) == sum(after) == 64
    assert before == after
    assert found["lines"] == [found["mean"], 0]


def test_the_drawn_activations_are_the_functions(call: Any) -> None:
    from math import erf, pi, sqrt, tanh

    xs = [-4, -1.5, -0.3, 0, 0.1, 0.7, 2, 5]
    found = call(
        "figures/activation.js",
        "m => Object.entries(m.FUNCTIONS).map(([name, f]) => [name, xs.map(f)])",
        xs=xs,
    )
    expected = {
        "relu": [max(0, x) for x in xs],
        "gelu": [0.5 * x * (1 + erf(x / sqrt(2))) for x in xs],
        "gelu_new": [0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) for x in xs],
    }
    for name, values in found:
        assert values == pytest.approx(expected[name], abs=1e-6), name
