"""`GET /cost`: parameters, operations, memory and paths of a block and its rivals."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app import encode
from app.errors import refuse_repeated
from app.replies_lab import CostReply
from app.schemas_lab import CostQuery
from app.services import Shared
from model.analysis.cost import CostRequest, cost

router = APIRouter()


@router.get("/cost", operation_id="cost", responses={200: {"model": CostReply}})
async def of_a_block(
    query: Annotated[CostQuery, Query()], request: Request, shared: Shared
) -> Response:
    refuse_repeated(request)
    sizes = CostRequest(**query.model_dump())
    return await shared.compute(request, lambda: encode.to_json(cost(sizes)))
