"""`GET /limits`: every limit in force."""

from fastapi import APIRouter
from starlette.responses import Response

from app import encode, limits
from app.replies import LimitsReply
from app.services import Shared

router = APIRouter()


@router.get("/limits", operation_id="limits", responses={200: {"model": LimitsReply}})
async def limits_in_force(shared: Shared) -> Response:
    body = encode.to_json(limits.in_force(shared.settings))
    return Response(body, media_type="application/json")
