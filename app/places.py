"""Where the files beside the code lie, in a checkout and in a wheel; must not read them."""

from pathlib import Path

_APP = Path(__file__).resolve().parent


def _folder(name: str) -> Path:
    """In a wheel the folder lies under `app/`, in a checkout beside it."""
    inside = _APP / name
    return inside if inside.is_dir() else _APP.parent / name


LOCALES = _APP / "locales"
STATIC = _folder("static")
TEMPLATES = _folder("templates")

IS_CHECKOUT = STATIC.parent != _APP
"""In a checkout files are edited while the server runs, so they are looked at again."""
