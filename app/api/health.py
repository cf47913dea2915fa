"""`GET /health`: whether the server answers, whatever it computes."""

from fastapi import APIRouter

from app.replies import HealthReply

router = APIRouter()


@router.get("/health", operation_id="health", responses={200: {"model": HealthReply}})
async def health() -> HealthReply:
    return HealthReply(status="ok")
