"""`POST /trace`: run a text; its summary, and the points asked for."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app import traces
from app.api.route import JsonRoute
from app.replies import TraceReply
from app.schemas import TraceBody
from app.services import Shared

router = APIRouter(route_class=JsonRoute)


@router.post("/trace", operation_id="trace", responses={200: {"model": TraceReply}})
async def trace(body: TraceBody, request: Request, shared: Shared) -> Response:
    return await shared.compute(request, lambda: traces.to_json(shared.registry, body))
