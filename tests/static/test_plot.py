"""Charts that cannot be drawn: whoever asked hears of it, and the figure says so."""

from typing import Any

DRAW = """async (m) => {
    document.body.innerHTML = '<div style="width: 300px"></div>';
    const build = () => { throw new Error('no such colour'); };
    return m.draw(document.body.firstChild, build).then(() => 'drawn', (error) => error.message);
}"""
FIGURE = """async (m) => {
    const heard = new Promise((resolve) => addEventListener('unhandledrejection', (event) => {
        event.preventDefault();
        resolve(event.reason.message);
    }, { once: true }));
    const box = m.figure({
        name: 'a', file: 'a', t: (key) => key, data: { columns: [], rows: [] },
        build: () => { throw new Error('no such colour'); },
    });
    document.body.replaceChildren(box);
    m.startFigures(document.body);
    const fault = await heard;
    return [fault, box.querySelector('[role=status]').textContent];
}"""
WITHOUT = """async (m) => {
    let heard = null;
    window.addEventListener('unhandledrejection', (event) => { heard = event.reason.message; });
    const box = m.figure({
        name: 'a', file: 'a', t: (key) => key, data: { columns: [], rows: [] }, build: () => ({}),
    });
    document.body.replaceChildren(box);
    m.startFigures(document.body);
    const status = box.querySelector('[role=status]');
    while (!status.textContent) await new Promise((resolve) => setTimeout(resolve, 10));
    return [heard, status.textContent];
}"""


def test_a_figure_that_throws_rejects_what_asked_for_it(call: Any) -> None:
    assert call("plot.js", DRAW) == "no such colour"


def test_a_figure_that_throws_says_that_it_is_missing_and_its_fault_is_heard(call: Any) -> None:
    fault, said = call("views/cards/parts.js", FIGURE)
    assert fault == "no such colour"
    assert said == "card.figure.unavailable"


def test_a_library_that_cannot_be_had_is_said_and_is_no_fault(call: Any, blank: Any) -> None:
    blank.route("**/plotly.min.js", lambda route: route.abort())
    try:
        heard, said = call("views/cards/parts.js", WITHOUT)
    finally:
        blank.unroute("**/plotly.min.js")
    assert heard is None
    assert said == "card.figure.unavailable"
