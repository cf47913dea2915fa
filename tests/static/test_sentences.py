"""Sentences with marks in them, and texts to copy; a reader's text never acts as markup."""

import ast
import json
import shlex
from typing import Any


def test_marks_become_elements_and_parameters_stay_text(
    call: Any, catalogue: dict[str, str]
) -> None:
    catalogue["s"] = "**{a}** reads [LayerNorm](term:layer_norm), `{a}`; {a} and {unknown}."
    html, tags, missing = call(
        "i18n.js",
        """m => {
            const root = document.createElement('p');
            root.append(m.rich('s', {a: '<b>[x](term:add)</b>'}));
            return [root.innerHTML, [...root.children].map((c) => c.tagName), m.t('missing.key')];
        }""",
    )
    assert tags == ["STRONG", "BUTTON", "CODE"]
    assert "; &lt;b&gt;[x](term:add)&lt;/b&gt; and {unknown}." in html
    assert missing == "missing.key"


def test_curl_and_python_carry_quotes_and_japanese_as_they_are(call: Any) -> None:
    body = {"text": 'it\'s "猫" \\ $HOME', "norm": None, "include": ["a[0]", {"points": "b"}]}
    curl = call("views/share.js", "m => m.asCurl('http://127.0.0.1:1', body)", body=body)
    python = call("views/share.js", "m => m.asPython('http://127.0.0.1:1', body)", body=body)
    words = shlex.split(curl.replace("\\\n", " "))
    assert words[:3] == ["curl", "-s", "http://127.0.0.1:1/api/v1/trace"]
    assert json.loads(words[words.index("-d") + 1]) == body
    tree = ast.parse(python)
    literal = next(n for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "body")  # type: ignore[attr-defined]
    assert ast.literal_eval(literal.value) == body


def test_checks_that_concern_a_step_are_those_of_its_output_and_of_its_block(call: Any) -> None:
    checks = [
        {"name": "add", "point": "blocks.0.resid_mid"},
        {"name": "add", "point": "blocks.1.resid_mid"},
        {"name": "softmax_rows", "point": "blocks.0.attn.pattern"},
        {"name": "torch_block", "point": "blocks.0.out"},
        {"name": "finite", "point": None},
    ]
    concerning = "m => m.concerning(checks, frame).map((c) => c.name + ' ' + c.point)"
    add = {
        "kind": "add",
        "layer": 0,
        "prefix": "blocks.0.",
        "steps": [{"output": "blocks.0.resid_mid"}],
    }
    found = call("views/trust.js", concerning, checks=checks, frame=add)
    assert found == ["add blocks.0.resid_mid", "torch_block blocks.0.out"]
    attn = {
        "kind": "attention",
        "layer": 0,
        "prefix": "blocks.0.",
        "steps": [{"output": "blocks.0.attn_out"}],
    }
    found = call("views/trust.js", concerning, checks=checks, frame=attn)
    assert found == ["softmax_rows blocks.0.attn.pattern", "torch_block blocks.0.out"]
