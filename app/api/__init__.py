"""The JSON API, version 1: one file per call."""

from fastapi import APIRouter

from app.api import add_norm, cost, health, limits, models, trace

PREFIX = "/api/v1"

router = APIRouter(prefix=PREFIX)
for call in (health, limits, models, trace, add_norm, cost):
    router.include_router(call.router)
