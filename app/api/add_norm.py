"""`POST /add-norm`: Add & Norm on vectors typed by hand."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app import encode
from app.api.route import JsonRoute
from app.replies import AddNormReply
from app.schemas import AddNormBody
from app.services import Shared
from model.add_norm import AddNorm
from model.add_norm import add_norm as compute

router = APIRouter(route_class=JsonRoute)


@router.post("/add-norm", operation_id="add_norm", responses={200: {"model": AddNormReply}})
async def add_norm(body: AddNormBody, request: Request, shared: Shared) -> Response:
    return await shared.compute(request, lambda: encode.to_json(stages(body)))


def stages(body: AddNormBody) -> AddNorm:
    """The arithmetic for a body, for this call and for the command."""
    return compute(**body.model_dump())
