"""`GET /models`: what can be run, how far it is loaded, how it was trained, and its weights."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app import encode, negotiation
from app.errors import Problem, error_content, refuse_repeated
from app.limits import MODEL_CHARACTERS
from app.replies import LoadingReply, ModelsReply, WeightReply
from app.replies_training import TrainingReply
from app.schemas import ParameterQuery
from app.services import Shared
from model.parameters import parameter
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


@router.get(
    "/models/{model}/parameters",
    operation_id="parameters",
    responses={200: {"model": WeightReply}},
)
async def parameters(
    model: Annotated[str, Path(examples=["twin"], max_length=MODEL_CHARACTERS)],
    query: Annotated[ParameterQuery, Query()],
    request: Request,
    shared: Shared,
) -> Response:
    refuse_repeated(request)
    return await shared.compute(
        request, lambda: encode.to_json(_parameter(shared.registry, model, query))
    )


def _parameter(registry: Registry, model: str, query: ParameterQuery) -> dict[str, Any]:
    runnable = registry.load(model, query.norm, query.weights, None)
    found = parameter(runnable, query.name, query.index)
    return {
        "model": runnable.entry.id,
        "norm": runnable.config.norm,
        "weights": runnable.weights,
        **vars(found),
    }


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
