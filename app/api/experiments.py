"""`POST /experiments/{name}`: seeded numerical experiments, one path each."""

from typing import Any, TypeVar

from fastapi import APIRouter, Request
from starlette.responses import Response

from app import experiments
from app.api.route import JsonRoute
from app.replies_lab import (
    DepthExperimentReply,
    DotProductVarianceReply,
    InitGradientsReply,
    InputNormsReply,
    ReachReply,
)
from app.schemas import Body
from app.schemas_lab import (
    DepthBody,
    DotProductVarianceBody,
    InitGradientsBody,
    InputNormsBody,
    ReachBody,
)
from app.services import Shared
from model.analysis.experiments import (
    depth,
    dot_product_variance,
    init_gradients,
    input_norms,
    reach,
)

router = APIRouter(prefix="/experiments", route_class=JsonRoute)
Asked = TypeVar("Asked")


@router.post(
    "/init-gradients",
    operation_id="init_gradients",
    responses={200: {"model": InitGradientsReply}},
)
async def of_gradients(body: InitGradientsBody, request: Request, shared: Shared) -> Response:
    run = init_gradients.run(_request(init_gradients.InitGradientsRequest, body))
    return await experiments.respond("init-gradients", run, request, shared)


@router.post(
    "/dot-product-variance",
    operation_id="dot_product_variance",
    responses={200: {"model": DotProductVarianceReply}},
)
async def of_dot_products(
    body: DotProductVarianceBody, request: Request, shared: Shared
) -> Response:
    asked = _request(dot_product_variance.DotProductVarianceRequest, body)
    run = dot_product_variance.run(asked)
    return await experiments.respond("dot-product-variance", run, request, shared)


@router.post(
    "/input-norms", operation_id="input_norms", responses={200: {"model": InputNormsReply}}
)
async def of_inputs(body: InputNormsBody, request: Request, shared: Shared) -> Response:
    asked = _request(input_norms.InputNormsRequest, body)
    run = input_norms.run(asked, shared.registry)
    return await experiments.respond("input-norms", run, request, shared)


@router.post("/depth", operation_id="depth", responses={200: {"model": DepthExperimentReply}})
async def of_depth(body: DepthBody, request: Request, shared: Shared) -> Response:
    run = depth.run(_request(depth.DepthRequest, body))
    return await experiments.respond("depth", run, request, shared)


@router.post("/reach", operation_id="reach", responses={200: {"model": ReachReply}})
async def of_reach(body: ReachBody, request: Request, shared: Shared) -> Response:
    run = reach.run(_request(reach.ReachRequest, body))
    return await experiments.respond("reach", run, request, shared)


def _request(kind: type[Asked], body: Body) -> Asked:
    """The experiment's frozen request, whose lists are tuples."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in body.model_dump().items()
    }
    return kind(**fields)
