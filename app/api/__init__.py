"""The JSON API, version 1: one file per call."""

from fastapi import APIRouter

from app.api import (
    add_norm,
    compare,
    cost,
    experiments,
    heads,
    health,
    ledger,
    lens,
    limits,
    models,
    trace,
    units,
)

PREFIX = "/api/v1"

router = APIRouter(prefix=PREFIX)
for call in (
    health,
    limits,
    models,
    trace,
    compare,
    heads,
    units,
    lens,
    ledger,
    add_norm,
    cost,
    experiments,
):
    router.include_router(call.router)
