"""The application: what stands where, and what a request meets first; must not know any call."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from app import api, assets, errors, pages
from app.pool import ComputePool
from app.security import BodyLimit, ReplyHeaders, SameSite
from app.services import Services
from app.settings import Settings
from model.registry import Registry


def create_app(settings: Settings | None = None) -> FastAPI:
    """An application of its own: its settings, its workers, its models in memory."""
    settings = settings or Settings.from_environment()
    app = FastAPI(
        title="addnorm",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan,
    )
    app.state.services = Services(settings, Registry(settings.models_dir), ComputePool(settings))
    app.state.pages = pages.PageStore()
    app.state.openapi_documents = {}
    app.include_router(api.router)
    app.include_router(pages.router)
    errors.install(app)
    # The last one added is the first that a request meets.
    app.add_middleware(BodyLimit)
    app.add_middleware(SameSite, hosts=settings.hosts)
    app.add_middleware(errors.CatchAll)
    app.add_middleware(ReplyHeaders)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Have what the first page needs ready, while the server already answers."""
    store: pages.PageStore = app.state.pages
    services: Services = app.state.services
    ahead = asyncio.gather(store.example(services), assets.plotly(), return_exceptions=True)
    yield
    ahead.cancel()
    services.pool.close()


app = create_app()
