"""`addnorm trace`: the reply of `POST /trace` in a terminal, as tables or as JSON."""

import argparse
import json
import sys
from typing import Any

from app import i18n, strict_json, traces
from app.command.body import Refused, checked
from app.command.tables import heading, table, vector
from app.errors import Refusal
from app.pool import prepare_runs
from app.schemas import TraceBody
from app.settings import SettingError, Settings
from model.errors import ModelError
from model.registry import Registry


def main(options: argparse.Namespace, lang: str) -> int:
    """Print one run; 2 where the request is refused, 1 where a check of the run fails."""
    try:
        body = _body(options)
        settings = Settings.from_environment()
        prepare_runs(settings)
        reply = traces.to_json(Registry(settings.models_dir), body)
    except SettingError as error:
        print(i18n.t(lang, "cli.bad_setting", name=error.name, value=error.value), file=sys.stderr)
        return 2
    except ModelError as error:
        refused = Refused(error.code, error.field, error.params)
    except Refusal as error:
        refused = Refused(error.problem.code, error.problem.field, error.problem.params)
    except Refused as error:
        refused = error
    else:
        return _show(reply, options, lang)
    refused.say(lang)
    return 2


def _show(reply: bytes, options: argparse.Namespace, lang: str) -> int:
    trace = json.loads(reply)
    if options.json:
        sys.stdout.write(reply.decode() + "\n")
    else:
        print("\n".join(tables_of(trace, lang)))
    return 0 if all(check["ok"] for check in trace["checks"]) else 1


def _body(options: argparse.Namespace) -> TraceBody:
    if not strict_json.is_unicode(options.text):
        raise Refused("lone_surrogate", "text", {})
    values = {
        "text": options.text,
        "text_pair": options.pair,
        "model": options.model,
        "norm": options.norm,
        "weights": options.weights,
        "config": _config(options.config),
        "include": options.include,
        "digits": options.digits,
        "verify": options.verify,
    }
    return checked(TraceBody, values)


def _config(text: str | None) -> object:
    if text is None:
        return None
    try:
        return strict_json.parse(text.encode("utf-8", "surrogateescape"))
    except strict_json.JsonFault as fault:
        field = f"config.{fault.field}" if fault.field else "config"
        raise Refused(fault.code, field, fault.params) from None


def tables_of(trace: dict[str, Any], lang: str) -> list[str]:
    """The lines of a reply."""

    def words(key: str) -> str:
        return i18n.t(lang, f"cli.table.{key}")

    model = trace["model"]
    lines = [
        f"{model['id']}  norm={model['norm']}  n_layers={model['n_layers']}  "
        f"n_heads={model['n_heads']}  d_model={model['d_model']}  eps={model['eps']:g}"
    ]
    lines += heading(words("tokens"))
    lines += table(
        ["index", "id", "label", "start", "end"],
        [[t["index"], t["id"], _label(t), t["start"], t["end"]] for t in trace["tokens"]],
    )
    lines += heading(words("steps"))
    lines += table(
        ["name", "kind", "inputs", "output"],
        [[s["name"], s["kind"], ", ".join(s["inputs"]), s["output"]] for s in trace["steps"]],
    )
    lines += heading(words("layer_norms"))
    for norm in trace["layer_norms"]:
        lines.append(f"{norm['name']}  ({norm['input']}, eps={norm['eps']:g})")
        lines += [
            f"  {key:8} {vector(norm[key])}" for key in ("mean", "var", "out_mean", "out_var")
        ]
    lines += heading(words("stream"))
    lines += [f"{s['point']:24} {vector(s['length'])}" for s in trace["stream"]["states"]]
    for key, tensor in trace["tensors"].items():
        lines += heading(f"{key}  [{', '.join(tensor['axes'])}]  {tensor['shape']}")
        lines += _rows(tensor["values"])
    lines += heading(words("checks"))
    lines += table(
        ["name", "point", "value", "limit", "ok"],
        [
            [c["name"], c["point"] or "", _number(c["value"]), f"{c['limit']:g}", _tick(c["ok"])]
            for c in trace["checks"]
        ],
    )
    lines += [f"! {flag['code']} {flag['point']} {flag['count']}" for flag in trace["flags"]]
    return lines


def _label(token: dict[str, Any]) -> str:
    part = f" {token['part']}/{token['parts']}" if token["part"] else ""
    return f"{token['label']}{part}"


def _number(value: float | None) -> str:
    """A check's value; what is not a number is null in JSON."""
    return "—" if value is None else f"{value:g}"


def _tick(ok: bool) -> str:
    return "✓" if ok else "✗"


def _rows(values: Any, index: tuple[int, ...] = ()) -> list[str]:
    """One line for each vector of a tensor, with its index."""
    if isinstance(values, list) and values and isinstance(values[0], list):
        return [line for i, inner in enumerate(values) for line in _rows(inner, (*index, i))]
    place = f"[{','.join(map(str, index))}]" if index else ""
    return [f"{place:10} {vector(values if isinstance(values, list) else [values])}"]
