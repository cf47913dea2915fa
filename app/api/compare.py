"""`POST /compare`: two runs on one text, where they differ and by how much."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app import analyses
from app.api.route import JsonRoute
from app.replies_analysis import CompareReply
from app.schemas_analysis import CompareBody
from app.services import Shared

router = APIRouter(route_class=JsonRoute)


@router.post("/compare", operation_id="compare", responses={200: {"model": CompareReply}})
async def compare(body: CompareBody, request: Request, shared: Shared) -> Response:
    return await shared.compute(request, lambda: analyses.compare(shared.registry, body))
