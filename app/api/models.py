"""`GET /models`: what can be run, how far it is loaded, and how a trained model was trained."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app import encode, negotiation
from app.errors import Problem, error_content
from app.limits import MODEL_CHARACTERS
from app.replies import LoadingReply, ModelsReply
from app.replies_training import TrainingReply
from app.services import Shared
from model.registry import Registry

router = APIRouter()


@router.get("/models", operation_id="models", responses={200: {"model": ModelsReply}})
async def models(request: Request, shared: Shared) -> Response:
    lang = negotiation.language(request.scope)
    # Folders are looked at, on a disk that may be slow.
    listed = await run_in_threadpool(_listed, shared.registry, lang)
    headers = {"Vary": "Accept-Language", "Content-Language": lang}
    return Response(encode.to_json(listed), headers=headers, media_type="application/json")


@router.get(
    "/models/{model}/loading", operation_id="loading", responses={200: {"model": LoadingReply}}
)
async def loading(
    model: Annotated[str, Path(examples=["twin"], max_length=MODEL_CHARACTERS)], shared: Shared
) -> Response:
    # Not a worker's job: workers may be busy with the very loading that is asked about.
    found = await run_in_threadpool(shared.registry.loading, model)
    return Response(encode.to_json(found), media_type="application/json")


@router.get(
    "/models/{model}/training", operation_id="training", responses={200: {"model": TrainingReply}}
)
async def training(
    model: Annotated[str, Path(examples=["twin"], max_length=MODEL_CHARACTERS)],
    request: Request,
    shared: Shared,
) -> Response:
    return await shared.compute(
        request, lambda: encode.to_json(shared.registry.training_record(model))
    )


def _listed(registry: Registry, lang: str) -> dict[str, Any]:
    refused = [
        (one.id, error_content(lang, Problem(one.code, params=one.params)))
        for one in registry.unsupported()
    ]
    return {
        "models": registry.entries(),
        "unsupported": [
            {"id": name, "reason": why["message"], "code": why["code"], "params": why["params"]}
            for name, why in refused
        ],
    }
