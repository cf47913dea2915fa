"""What may import what, where sentences may stand, and that nothing comes from elsewhere."""

import ast
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import assets

ROOT = Path(__file__).parent.parent
MODEL = sorted((ROOT / "model").rglob("*.py"))
APP = sorted((ROOT / "app").rglob("*.py"))
SCRIPTS = sorted((ROOT / "static").rglob("*.js"))
STYLES = sorted((ROOT / "static").rglob("*.css"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))

WEB = {"app", "fastapi", "starlette", "uvicorn", "jinja2", "pydantic", "plotly", "orjson"}
ARITHMETIC = {"torch", "numpy"}
# The one file that turns tensors into bytes.
ENCODER = "app/encode.py"

KANA_OR_KANJI = re.compile(r"[\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff]")
# Two English words in a row, the first with a capital, or four in a row: what a reader would read.
SENTENCE = re.compile(r"\b[A-Z][a-z]+ [a-z]{2,}\b|(?:\b[a-z]{2,} ){3}[a-z]{2,}\b")


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported(path: Path) -> set[str]:
    """Top-level names of all modules that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name(path)}: imports are absolute"
            found.add((node.module or "").split(".")[0])
    return found


@pytest.mark.parametrize("path", MODEL, ids=name)
def test_the_model_knows_nothing_of_the_application(path: Path):
    assert not imported(path) & WEB


@pytest.mark.parametrize("path", APP, ids=name)
def test_the_application_does_no_arithmetic_on_activations(path: Path):
    if name(path) == ENCODER:
        return
    used = set(re.findall(r"\b(?:torch|np|numpy)\.(\w+)", path.read_text(encoding="utf-8")))
    # How many threads a run may use is the server's business.
    assert used <= {"set_num_threads", "get_num_threads"}
    assert "numpy" not in imported(path)


def test_the_encoder_is_where_this_test_thinks_it_is():
    assert imported(ROOT / ENCODER) >= ARITHMETIC


@pytest.mark.parametrize("path", [*MODEL, *APP], ids=name)
def test_every_module_says_what_it_is_for(path: Path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "a module begins with what it is for"


# -- scripts -----------------------------------------------------------------------------------

# What may stand before a slash that begins a regular expression rather than divides.
BEFORE_REGEX = re.compile(r"(?:^|[(,=:\[!&|?{};\n>]|\b(?:return|typeof|case|of))[ \t]*$")
REGEX = re.compile(r"/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*")
QUOTED = re.compile(r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def scan(script: str) -> tuple[str, list[str]]:
    """A script without its comments, and its string literals (templates by their fixed parts)."""
    code: list[str] = []
    literals: list[str] = []
    braces: list[int] = []  # one for each template that we are inside of: depth of its ${ }
    at = 0

    def template(start: int) -> int:
        """Read the fixed part that begins at `start`; return where code goes on."""
        end = start
        while script[end] != "`" and not script.startswith("${", end):
            end += 2 if script[end] == "\\" else 1
        literals.append(script[start:end])
        if script[end] == "`":
            end += 1
        else:
            braces.append(0)
            end += 2
        code.append(script[start:end])
        return end

    while at < len(script):
        character = script[at]
        if comment := COMMENT.match(script, at):
            at = comment.end()
        elif quoted := QUOTED.match(script, at):
            literals.append(quoted[0][1:-1])
            code.append(quoted[0])
            at = quoted.end()
        elif (regex := REGEX.match(script, at)) and BEFORE_REGEX.search("".join(code[-80:])):
            code.append(regex[0])
            at = regex.end()
        elif character == "`":
            code.append(character)
            at = template(at + 1)
        elif character == "}" and braces and braces[-1] == 0:
            braces.pop()
            code.append(character)
            at = template(at + 1)
        else:
            if braces:
                braces[-1] += {"{": 1, "}": -1}.get(character, 0)
            code.append(character)
            at += 1
    return "".join(code), literals


def without_comments(script: str) -> str:
    return scan(script)[0]


def strings(script: str) -> list[str]:
    return scan(script)[1]


def test_comments_and_strings_of_a_script_are_told_apart():
    script = (
        "a = 'it // is'; // no 'string'\nb = /['\"]/; /* 'no' */ c = `yes\\`${d ? `in` : {}}!`;\n"
    )
    assert strings(script) == ["it // is", "yes\\`", "in", "!"]
    assert without_comments(script) == (
        "a = 'it // is'; \nb = /['\"]/;  c = `yes\\`${d ? `in` : {}}!`;\n"
    )


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_only_one_script_names_plotly(path: Path):
    named = "Plotly" in without_comments(path.read_text(encoding="utf-8"))
    assert named == (path.name == "plot.js")


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_a_script_imports_its_neighbours_only(path: Path):
    script = without_comments(path.read_text(encoding="utf-8"))
    imports = (
        r"""(?m)^\s*import\b[^'"]*['"]([^'"]+)|\bfrom\s+['"]([^'"]+)|\bimport\(\s*['"]([^'"]+)"""
    )
    for specifier in filter(None, itertools.chain(*re.findall(imports, script))):
        assert specifier.startswith(("./", "../")), specifier
        assert (path.parent / specifier).is_file(), specifier
    assert not re.search(r"\beval\(|new Function\(|document\.write\(|\.innerHTML\s*=", script)


@pytest.mark.parametrize("path", [*SCRIPTS, *STYLES, *TEMPLATES], ids=name)
def test_nothing_is_fetched_from_another_host(path: Path):
    text = path.read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[^\s'\"`)<>]+", text))
    links = set(re.findall(r"<a\b[^>]*href=\"(https?://[^\"]+)\"", text))
    names_of_xml = {a for a in addresses if a.startswith("http://www.w3.org/")}
    assert addresses <= links | names_of_xml


@pytest.mark.parametrize("path", [*SCRIPTS, *STYLES], ids=name)
def test_no_file_is_somebody_elses_or_built(path: Path):
    text = path.read_text(encoding="utf-8")
    assert max(map(len, text.splitlines()), default=0) <= 500, "a minified line"
    assert not re.search(r"@license|@preserve|copyright|sourceMappingURL", text, re.IGNORECASE)


def loaded(path: Path, seen: set[Path]) -> None:
    """Add a script and all that it imports."""
    if path not in seen:
        seen.add(path)
        script = path.read_text(encoding="utf-8")
        for specifier in re.findall(r"""(?m)^import\b[^'"]*['"]([^'"]+)""", script):
            loaded((path.parent / specifier).resolve(), seen)


PAGES = [path for path in TEMPLATES if "{% extends" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_page_loads_more_than_200_kilobytes_of_own_scripts_and_styles(page: Path):
    text = (ROOT / "templates" / "base.html").read_text(encoding="utf-8")
    text += page.read_text(encoding="utf-8")
    files: set[Path] = set()
    for address in re.findall(r"""static\(['"]([^'"]+)""", text):
        path = ROOT / "static" / address
        if path.suffix == ".js":
            loaded(path.resolve(), files)
        else:
            files.add(path)
    assert any(path.suffix == ".js" for path in files)
    assert sum(len(assets.without_comments(path.read_bytes())) for path in files) < 200_000


def lines_of(code: str) -> list[str]:
    """Lines that hold anything, without what stands around it."""
    return [line.strip() for line in code.splitlines() if line.strip()]


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_a_script_is_served_as_it_is_written_but_for_comments(path: Path):
    written = path.read_text(encoding="utf-8")
    served = assets.without_comments(path.read_bytes()).decode()
    assert strings(served) == strings(written)
    assert lines_of(without_comments(served)) == lines_of(without_comments(written))


# -- sentences ---------------------------------------------------------------------------------


def is_example(node: ast.AST) -> bool:
    """Whether a node gives a name to something that a reader might type."""
    if isinstance(node, ast.keyword):
        return node.arg in ("examples", "text")
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("EXAMPLE", "TEXT")


def constants(path: Path) -> Iterator[tuple[int, str]]:
    """Strings of a Python file that are neither docstrings nor examples of what readers type."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            bare.add(id(node.value))
        elif is_example(node):
            bare |= {id(part) for part in ast.walk(node.value)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.lineno, node.value


REFUSALS = ("ModelError", "Refusal", "Problem", "Refused", "JsonFault")


def refusals(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func
            if getattr(called, "id", getattr(called, "attr", "")) in REFUSALS:
                yield node


@pytest.mark.parametrize("path", [*MODEL, *APP], ids=name)
def test_a_refusal_carries_a_code_and_parameters_but_no_sentence(path: Path):
    for call in refusals(path):
        values = [*call.args, *(keyword.value for keyword in call.keywords)]
        if call.args and isinstance(call.args[0], ast.Constant):
            assert re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", call.args[0].value), call.lineno
        for value in values:
            for node in ast.walk(value):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    assert not SENTENCE.search(node.value), f"line {node.lineno}: {node.value}"


# Written to a file or a terminal by those who train, not shown to readers, and the alphabet itself.
NOT_FOR_READERS = ("model/tokenizer/", "model/twins/")


@pytest.mark.parametrize("path", APP, ids=name)
def test_the_application_holds_no_sentence(path: Path):
    found = [
        (line, text)
        for line, text in constants(path)
        if SENTENCE.search(text) or KANA_OR_KANJI.search(text)
    ]
    assert found == []


@pytest.mark.parametrize("path", MODEL, ids=name)
def test_the_model_holds_no_japanese(path: Path):
    if not name(path).startswith(NOT_FOR_READERS):
        assert [text for _, text in constants(path) if KANA_OR_KANJI.search(text)] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=name)
def test_a_script_holds_no_sentence(path: Path):
    script = path.read_text(encoding="utf-8")
    # What a programmer is told when a module is used wrongly is not for readers.
    script = re.sub(r"new \w*Error\((['\"`]).*?\1", "new Error(", script)
    for text in strings(script):
        assert not KANA_OR_KANJI.search(text), text
        # Python that a reader may copy is no sentence.
        assert not SENTENCE.search(text) or re.match(r"(?:from|import|for|def) ", text), text


@pytest.mark.parametrize("path", TEMPLATES, ids=name)
def test_a_template_holds_no_sentence(path: Path):
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}|<!--.*?-->", "", text, flags=re.DOTALL)
    # Of a tag, the attributes that a reader sees or hears.
    shown = re.compile(r'\b(?:alt|aria-[a-z]+|content|placeholder|title|value)="([^"]*)"')
    text = re.sub(r"<[^>]*>", lambda tag: "; ".join(shown.findall(tag[0])), text)
    assert not KANA_OR_KANJI.search(text)
    assert not SENTENCE.search(text)
