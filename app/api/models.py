"""`GET /models`: what can be run, the default first, and what is present but cannot."""

from fastapi import APIRouter
from starlette.responses import Response

from app import encode
from app.replies import ModelsReply
from app.services import Shared

router = APIRouter()


@router.get("/models", operation_id="models", responses={200: {"model": ModelsReply}})
async def models(shared: Shared) -> Response:
    registry = shared.registry
    listed = {"models": registry.entries(), "unsupported": registry.unsupported()}
    return Response(encode.to_json(listed), media_type="application/json")
