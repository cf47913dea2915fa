"""The HTML pages: templates and what they are given; must not know how a run is made."""

import html
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fastapi import APIRouter, Request
from jinja2 import Environment, FileSystemLoader
from latex2mathml.converter import convert
from markupsafe import Markup
from starlette.responses import Response
from starlette.types import Scope

from app import assets, i18n, negotiation, openapi, reference, traces
from app.assets import Asset
from app.errors import Refusal, log_fault
from app.places import IS_CHECKOUT, STATIC, TEMPLATES
from app.schemas import TraceBody
from app.services import Shared

EXAMPLE = TraceBody.model_validate(
    {
        "text": i18n.t(i18n.DEFAULT_LANGUAGE, "example.default"),
        "include": ["blocks.0.resid_pre[4]", "blocks.0.attn_out[4]", "blocks.0.resid_mid[4]"],
    }
)
"""Both readers find words of theirs in it, characters of several sizes included. The first Add of
one position comes along, so that the page's first numbers need no request."""

PAGES = {
    "/": "index.html",
    "/questions": "questions.html",
    "/compare": "compare.html",
    "/heads": "heads.html",
    "/stream": "stream.html",
    "/lab": "lab.html",
    "/cost": "cost.html",
    "/training": "training.html",
    "/add-norm": "add_norm.html",
}
"""Address to template; the reference of the API, which needs more, has a route of its own."""

_ADDRESS = "http://127.0.0.1:8000"
"""Where `addnorm` serves if nothing else is said; for examples."""

STATIC_FILES = assets.Folder(STATIC)
_TEMPLATE_FILES = assets.Folder(TEMPLATES)

router = APIRouter(include_in_schema=False)

_environment = Environment(
    loader=FileSystemLoader(TEMPLATES), autoescape=True, auto_reload=IS_CHECKOUT
)


def with_code(sentence: str) -> Markup:
    """A sentence whose `names` in backticks are marked as code; everything else is text."""
    parts = sentence.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else part
        for place, part in enumerate(parts)
    )


_environment.filters["with_code"] = with_code


class PageStore:
    """What is made of templates and sentences, kept until one of their files changes."""

    def __init__(self) -> None:
        self._example: bytes | None = None
        self._kept: dict[tuple[str, str], tuple[str, Asset]] = {}

    async def example(self, shared: Shared) -> bytes:
        """The default example's reply, from the same code as `POST /trace`, computed once."""
        if self._example is None:
            self._example = await shared.pool.run(lambda: traces.to_json(shared.registry, EXAMPLE))
        return self._example

    def asset(self, name: str, lang: str, make: Callable[[], str], suffix: str = ".json") -> Asset:
        """What ``make`` gives for a name and a language; it is asked when a file has changed."""
        version = f"{STATIC_FILES.version()}-{_TEMPLATE_FILES.version()}-{i18n.version(lang)}"
        known = self._kept.get((name, lang))
        if known is None or known[0] != version:
            known = self._kept[name, lang] = (version, Asset(make().encode(), suffix))
        return known[1]


def render(template: str, lang: str, context: Mapping[str, Any]) -> str:
    """A template with what every page is given: language, sentences, addresses, formulas."""
    version = STATIC_FILES.version()
    return _environment.get_template(template).render(
        lang=lang,
        t=partial(i18n.t, lang),
        static=lambda path: f"/static/v-{version}/{path}",
        plotly=f"/plotly.min.js?v={assets.plotly_version()}",
        formula=lambda latex, display="inline": Markup(convert(latex, display=display)),
        catalogue=data_block(_sentences_json(lang)),
        **context,
    )


def page_sentences(lang: str) -> dict[str, str]:
    """The sentences that scripts may need; those of the reference and the command stay here."""
    return {
        key: sentence
        for key, sentence in i18n.catalogue(lang).items()
        if not key.startswith(("api.", "cli.", "docs."))
    }


def data_block(text: str) -> Markup:
    """JSON that may stand in a script element: nothing in it can end it or open another."""
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


async def _page(request: Request, shared: Shared, template: str, example: bool) -> Response:
    lang = negotiation.language(request.scope)
    store: PageStore = request.app.state.pages
    context: dict[str, Any] = {"active": request.url.path}
    if example:
        context["example"] = data_block((await store.example(shared)).decode())
    page = store.asset(template, lang, lambda: render(template, lang, context), ".html")
    return page.reply(request, assets.ASK_AGAIN, **_in_language(lang))


def _in_language(lang: str) -> dict[str, str]:
    return {"Content-Language": lang, "Vary": "Accept-Encoding, Accept-Language"}


def _serve(path: str, template: str) -> None:
    @router.get(path)
    async def page(request: Request, shared: Shared) -> Response:
        # The explorer alone begins with a run that it did not have to ask for.
        return await _page(request, shared, template, example=path == "/")


for _path, _template in PAGES.items():
    _serve(_path, _template)


@router.get("/docs")
async def docs(request: Request) -> Response:
    lang = negotiation.language(request.scope)
    store: PageStore = request.app.state.pages

    def page() -> str:
        calls = reference.of(openapi.document(request.app, lang))
        context = {"active": "/docs", "address": _ADDRESS, "reference": calls}
        return render("docs.html", lang, context)

    asset = store.asset("docs.html", lang, page, ".html")
    return asset.reply(request, assets.ASK_AGAIN, **_in_language(lang))


@router.get("/openapi.json")
async def openapi_file(request: Request) -> Response:
    lang = negotiation.language(request.scope)
    store: PageStore = request.app.state.pages

    def document() -> str:
        return json.dumps(openapi.document(request.app, lang), ensure_ascii=False)

    asset = store.asset("openapi.json", lang, document)
    return asset.reply(request, assets.ASK_AGAIN, **_in_language(lang))


@router.get("/locales/{lang}.json")
async def locale(lang: str, request: Request) -> Response:
    if lang not in i18n.LANGUAGES:
        raise Refusal("not_found")
    store: PageStore = request.app.state.pages
    asset = store.asset("sentences", lang, lambda: _sentences_json(lang))
    return asset.reply(request, assets.ASK_AGAIN)


def _sentences_json(lang: str) -> str:
    return json.dumps(page_sentences(lang), ensure_ascii=False)


@router.get("/plotly.min.js")
async def plotly_script(request: Request) -> Response:
    asset = await assets.plotly()
    is_versioned = request.query_params.get("v") == assets.plotly_version()
    return asset.reply(request, assets.FOREVER if is_versioned else assets.ASK_AGAIN)


@router.get("/static/{path:path}")
async def static_file(path: str, request: Request) -> Response:
    version, _, rest = path.partition("/")
    is_versioned = version.startswith("v-")
    asset = STATIC_FILES.get(rest if is_versioned else path)
    if asset is None:
        raise Refusal("not_found")
    is_current = is_versioned and version == f"v-{STATIC_FILES.version()}"
    return asset.reply(request, assets.FOREVER if is_current else assets.ASK_AGAIN)


def error_page(scope: Scope, lang: str, status: int, error: Mapping[str, Any]) -> str:
    """The page of a refusal; a plain one where the template itself is at fault."""
    context = {
        "active": None,
        "status": status,
        "title": i18n.t(lang, f"error.status.{status}"),
        "message": error["message"],
        "code": error["code"],
    }
    try:
        return render("error.html", lang, context)
    except Exception as fault:
        # A broken template must not hide the error that it should show, nor itself.
        log_fault(fault)
        title, message = html.escape(context["title"]), html.escape(error["message"])
        return (
            f'<!doctype html><html lang="{lang}"><meta charset="utf-8"><title>{title}</title>'
            f"<h1>{status} {title}</h1><p>{message}</p></html>"
        )
