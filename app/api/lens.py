"""`POST /lens`: what every state of the stream would predict."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app import analyses
from app.api.route import JsonRoute
from app.replies_analysis import LensReply
from app.schemas_analysis import LensBody
from app.services import Shared

router = APIRouter(route_class=JsonRoute)


@router.post("/lens", operation_id="lens", responses={200: {"model": LensReply}})
async def lens(body: LensBody, request: Request, shared: Shared) -> Response:
    return await shared.compute(request, lambda: analyses.lens(shared.registry, body))
