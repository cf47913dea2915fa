"""`POST /units`: the strongest units of an FFN at a position, or what drives one unit."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app import analyses
from app.api.route import JsonRoute
from app.replies_analysis import UnitsReply
from app.schemas_analysis import UnitsBody
from app.services import Shared

router = APIRouter(route_class=JsonRoute)


@router.post("/units", operation_id="units", responses={200: {"model": UnitsReply}})
async def units(body: UnitsBody, request: Request, shared: Shared) -> Response:
    return await shared.compute(request, lambda: analyses.units(shared.registry, body))
