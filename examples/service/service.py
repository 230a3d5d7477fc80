"""A service: many tenants, each with threads and a workspace of its own, events as SSE.

TENANTS=/srv/tenants MODEL=anthropic/claude-sonnet-4-5 uvicorn service:app

POST /TENANT/messages   {"text": "..."}                → {"run_id": ...}, at once
GET  /TENANT/events     the thread's events, from the beginning or after Last-Event-ID
POST /TENANT/answers/ID {"approve": true} or {"answer": "..."}
GET  /TENANT/display    what a user interface shows now
"""

import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from bridle import Agent, Harness, RequestContext, Session, UserError, Workspace
from bridle.types.events import encode_event

ROOT = Path(os.environ["TENANTS"])


def workspace_of(request: RequestContext) -> Workspace:
    """The directory of a tenant; nothing outside it can be read or written."""
    directory = ROOT / request.resource_id / "files"
    directory.mkdir(parents=True, exist_ok=True)
    return Workspace(directory)


harness = Harness(
    id="service",
    store=f"sqlite:////{ROOT}/service.db",
    agent=Agent("You help the tenant with the files in the workspace."),
    model=os.environ["MODEL"],
    workspace=workspace_of,
)


async def session_of(request: Request) -> Session:
    """The tenant's session: made once, and kept while the service runs."""
    tenant = request.path_params["tenant"]
    if not tenant.isalnum():
        raise UserError("A tenant's name has letters and digits.")
    known: dict[str, Session] = request.app.state.sessions
    if tenant not in known:
        known[tenant] = await harness.session(resource_id=tenant)
        await known[tenant].resume()  # what an earlier process left unfinished
    return known[tenant]


async def send(request: Request) -> Response:
    """Begin a run and do not wait for it."""
    run = (await session_of(request)).start((await request.json())["text"])
    await run.begin()
    return JSONResponse({"run_id": run.id}, status_code=202)


async def events(request: Request) -> Response:
    """Everything that happened after the last event that the client has seen, then live."""
    session = await session_of(request)
    after = int(request.headers.get("last-event-id", 0))

    async def stream() -> AsyncIterator[bytes]:
        async for event in session.events.replay(after=after):
            name = b"" if event.seq is None else b"id: %d\n" % event.seq
            yield name + b"data: " + encode_event(event) + b"\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream")


async def answer(request: Request) -> Response:
    """Answer an approval or a question."""
    session, body = await session_of(request), await request.json()
    id = request.path_params["id"]
    if "answer" in body:
        run_id = await session.answer(id, body["answer"])
    elif body.get("approve"):
        run_id = await session.approve(id)
    else:
        run_id = await session.decline(id, body.get("reason"))
    return JSONResponse({"run_id": run_id})


async def display(request: Request) -> Response:
    """One snapshot."""
    shown = msgspec.json.encode((await session_of(request)).display)
    return Response(shown, media_type="application/json")


async def refused(_request: Request, error: Exception) -> Response:
    """What the caller can put right is said to the caller."""
    return JSONResponse({"error": str(error)}, status_code=400)


@contextlib.asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """The harness lives as long as the service."""
    app.state.sessions = {}
    async with harness:
        yield


app = Starlette(
    lifespan=lifespan,
    exception_handlers={UserError: refused},
    routes=[
        Route("/{tenant}/messages", send, methods=["POST"]),
        Route("/{tenant}/events", events),
        Route("/{tenant}/answers/{id}", answer, methods=["POST"]),
        Route("/{tenant}/display", display),
    ],
)
