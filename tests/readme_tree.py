"""The README's tree, from what each module says of itself: `python tests/readme_tree.py`."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"(?<=```text\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)

# What cannot say it itself. Folders without an entry here are told by their `__init__.py`.
SAID = {
    "pyproject.toml": "the package, its dependencies with bounds, the tools' settings",
    "requirements.lock": "exact versions for running, testing and building",
    "Makefile": "the commands",
    ".ci": "what continuous integration runs: the README's test command",
    "templates": "the pages; a part of a page begins with _",
    "static": "what the browser loads: css/, js/ (figures/ are pure, views/ touch the page), img/",
    "app/locales": "every sentence, in both languages",
    "tests": "the same folders once more, and browser/: readers' journeys in Chromium",
}
IN_FULL = ("model", "app")
TOP = ("pyproject.toml", "requirements.lock", "Makefile", ".ci", "model", "app", "templates")
WIDTH = 22


def first_words(module: Path) -> str:
    """The first sentence of a module, up to what it must not know."""
    said = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    return re.split(r"[.;](?:\s|$)", said.replace("``", "`"), maxsplit=1)[0].replace("\n", " ")


def line(path: Path, depth: int) -> str:
    name = path.relative_to(ROOT).as_posix()
    said = SAID.get(name) or first_words(path / "__init__.py" if path.is_dir() else path)
    label = "  " * depth + path.name + ("/" if path.is_dir() else "")
    return f"{label:{WIDTH}}  {said[:1].upper() + said[1:]}".rstrip()


def told(folder: Path) -> Iterator[Path]:
    """The folders and modules directly in a folder, folders last."""
    inside = [path for path in folder.iterdir() if not path.name.startswith(("_", "."))]
    inside += folder.glob("__main__.py")
    yield from sorted(path for path in inside if path.suffix == ".py")
    yield from sorted(path for path in inside if path.is_dir() and any(path.glob("*.*")))


def tree() -> str:
    """The whole tree as text."""
    lines = []
    for name in (*TOP, "static", "tests"):
        lines.append(line(ROOT / name, 0))
        if name in IN_FULL:
            lines += [line(path, 1) for path in told(ROOT / name)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the tree into the README."""
    text = README.read_text(encoding="utf-8")
    README.write_text(BLOCK.sub(lambda _: tree(), text), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
