"""The API client: one request for what is not there, none for what is."""

from typing import Any

COUNTING = """async (m) => {
    const asked = [];
    window.fetch = async (path, options) => {
        const body = JSON.parse(options.body);
        asked.push(body.include);
        const name = (entry) => entry.points ?? entry;
        const tensors = body.include.map((e) => [name(e), {values: [name(e)]}]);
        return Response.json({tensors: Object.fromEntries(tensors)});
    };
    const store = m.tensorStore(trace, () => 'en');
    %s
}"""


def test_what_was_fetched_or_is_on_its_way_is_not_asked_for_again(call: Any) -> None:
    trace = {"request": {"text": "a"}, "tensors": {}}
    body = """
    await Promise.all([store.load(['a[0]', 'b']), store.load(['b', 'c'])]);
    await store.load(['a[0]', 'b', 'c']);
    await store.load([{points: 'b', encoding: 'base64'}]);
    return [asked, [...store.asked.values()]];"""
    asked, shown = call("api.js", COUNTING % body, trace=trace)
    assert asked == [["a[0]", "b"], ["c"], [{"points": "b", "encoding": "base64"}]]
    assert shown == ["a[0]", "b", "c", {"points": "b", "encoding": "base64"}]


def test_the_newest_task_aborts_the_one_before(call: Any) -> None:
    order = call(
        "api.js",
        """async (m) => {
            const runner = m.newestOnly();
            const slow = (signal) => new Promise((done, failed) =>
                signal.addEventListener('abort', () => failed(new DOMException('', 'AbortError'))));
            const first = runner.run(slow).catch((error) => error.name);
            const second = runner.run(async () => 'second');
            return [await first, await second];
        }""",
    )
    assert order == ["AbortError", "second"]


def test_a_refusal_keeps_its_code_and_numbers_and_a_lost_server_is_offline(call: Any) -> None:
    refused = call(
        "api.js",
        """async (m) => {
            const caught = [];
            const params = {limit: 256, length: 301};
            const error = {code: 'text_too_long', message: 'x', field: 'text', params};
            for (const answer of [
                async () => Response.json({error}, {status: 422}),
                async () => { throw new TypeError('Failed to fetch'); },
                async () => new Response('<html>', {status: 502}),
            ]) {
                window.fetch = answer;
                const parts = (e) => [e.name, e.code, e.field, e.params, e.status];
                await m.get('/limits').catch((e) => caught.push(parts(e)));
            }
            return caught;
        }""",
    )
    assert refused == [
        ["ApiError", "text_too_long", "text", {"limit": 256, "length": 301}, 422],
        ["ApiError", "offline", None, {}, 0],
        ["ApiError", "unexpected_answer", None, {"status": 502}, 502],
    ]
