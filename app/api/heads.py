"""`POST /heads` and `POST /heads/induction`: what heads write, and which repeat what was said."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app import analyses
from app.api.route import JsonRoute
from app.replies_analysis import HeadsReply, RepetitionReply
from app.schemas_analysis import HeadsBody, RepetitionBody
from app.services import Shared

router = APIRouter(route_class=JsonRoute)


@router.post("/heads", operation_id="heads", responses={200: {"model": HeadsReply}})
async def heads(body: HeadsBody, request: Request, shared: Shared) -> Response:
    return await shared.compute(request, lambda: analyses.heads(shared.registry, body))


@router.post(
    "/heads/induction", operation_id="induction", responses={200: {"model": RepetitionReply}}
)
async def induction(body: RepetitionBody, request: Request, shared: Shared) -> Response:
    return await shared.compute(request, lambda: analyses.induction(shared.registry, body))
