"""Bytes of a request to plain JSON values, or a refusal by field; must not know any schema.

Python's own reader accepts NaN, 1e400, half a surrogate pair and a key given twice; all of these
end in a 500 or in a silent guess further down.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass

MAX_DEPTH = 16
MAX_INTEGER = 2**64


class JsonFault(Exception):
    """Why a body is refused: a code, the field at fault (null where there is none), and numbers."""

    def __init__(self, code: str, field: str | None = None, **params: object) -> None:
        super().__init__(code)
        self.code = code
        self.field = field
        self.params = params


@dataclass(frozen=True, slots=True)
class _Refused:
    """Stands where something unacceptable stood, until the walk has found its path."""

    code: str
    key: str | None = None


def parse(body: bytes) -> object:
    """Read a JSON text strictly.

    Raises:
        JsonFault: not UTF-8, not JSON, nested too deeply, a key twice, a number that is not
            finite or too large, or text that is not Unicode.
    """
    try:
        value = json.loads(
            body.decode("utf-8"),
            parse_constant=lambda _: _Refused("not_finite"),
            parse_float=_decimal,
            parse_int=_integer,
            object_pairs_hook=_object,
        )
    except UnicodeDecodeError as error:
        raise JsonFault("malformed_json", position=error.start) from None
    except json.JSONDecodeError as error:
        raise JsonFault("malformed_json", position=error.pos) from None
    except RecursionError:
        raise JsonFault("nested_too_deeply", limit=MAX_DEPTH) from None
    _refuse_faults({None: value})
    return value


def is_unicode(text: str) -> bool:
    """Whether every character is a Unicode scalar value: half a pair is not a character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def printable(text: str) -> str:
    """A text that can be sent back: half pairs are written as their escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _decimal(digits: str) -> float | _Refused:
    value = float(digits)
    return value if math.isfinite(value) else _Refused("not_finite")


def _integer(digits: str) -> int | _Refused:
    # The length is looked at first: Python refuses to convert thousands of digits at all.
    if len(digits) > 21 or abs(int(digits)) > MAX_INTEGER:
        return _Refused("integer_too_large")
    return int(digits)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object] | _Refused:
    found: dict[str, object] = {}
    for key, value in pairs:
        if not is_unicode(key):
            return _Refused("lone_surrogate", printable(key))
        if key in found:
            return _Refused("duplicate_key", key)
        found[key] = value
    return found


def _refuse_faults(root: dict[None, object]) -> None:
    """Look at every value, without recursion; the path is spelled only where something is wrong."""
    stack: list[tuple[str | None, object, int]] = [(None, root, 0)]
    while stack:
        path, container, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise JsonFault("nested_too_deeply", path, limit=MAX_DEPTH)
        inner = []
        for key, value in _items(container):
            if isinstance(value, (dict, list)):
                inner.append((_child(path, key), value, depth + 1))
            elif isinstance(value, str):
                if not is_unicode(value):
                    raise JsonFault("lone_surrogate", _child(path, key))
            elif isinstance(value, _Refused):
                field = _child(path, key)
                raise JsonFault(value.code, _child(field, value.key) if value.key else field)
        stack.extend(reversed(inner))


def _items(container: object) -> Iterable[tuple[str | int | None, object]]:
    if isinstance(container, dict):
        return container.items()
    assert isinstance(container, list)
    return enumerate(container)


def _child(path: str | None, key: str | int | None) -> str | None:
    if key is None:
        return path
    if isinstance(key, int):
        return f"{path or ''}[{key}]"
    return f"{path}.{key}" if path else key
