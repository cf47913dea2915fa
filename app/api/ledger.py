"""`POST /ledger`: a state of the stream as the sum of what was written into it."""

from fastapi import APIRouter, Request
from starlette.responses import Response

from app import analyses
from app.api.route import JsonRoute
from app.replies_analysis import LedgerReply
from app.schemas_analysis import LedgerBody
from app.services import Shared

router = APIRouter(route_class=JsonRoute)


@router.post("/ledger", operation_id="ledger", responses={200: {"model": LedgerReply}})
async def ledger(body: LedgerBody, request: Request, shared: Shared) -> Response:
    return await shared.compute(request, lambda: analyses.ledger(shared.registry, body))
