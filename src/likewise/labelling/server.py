"""The server: the page and its files, the endpoints of `api.py`, and a sentence for every mistake.

One process with one lock around the chooser; an answer is acknowledged after its commit. `gate.py` says what is refused
before anything is looked at.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Collection
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from likewise import __version__
from likewise.errors import InputError
from likewise.labelling.api import CurrentLabelling, Labelling, Person, router
from likewise.labelling.gate import Gate
from likewise.labelling.session import Refusal
from likewise.labelling.shown_items import ItemGone
from likewise.pairs.database import StoreError
from likewise.pairs.store import EventConflict

PAGE = Path(__file__).parent / "page"
YEAR = 365 * 24 * 3600
WRONG = "The address has a wrong token; open the address that likewise label printed."


def create_app(labelling: Labelling, *, names: Collection[str] = ()) -> FastAPI:
    """The application; `names` are those of this machine that people use, beyond localhost and numbers."""
    app = FastAPI(title="Likewise", version=__version__, docs_url=None, redoc_url=None)
    app.state.labelling = labelling
    app.include_router(router)
    app.add_api_route("/", get_page, methods=["GET"], include_in_schema=False)
    app.add_api_route("/page/{name}", get_file, methods=["GET"], include_in_schema=False)
    app.add_api_route("/report", get_report, methods=["GET"], include_in_schema=False)
    for kind, status in (
        (Refusal, None),
        (EventConflict, 409),
        (StoreError, 503),
        (InputError, 409),
        (ItemGone, 404),
        (HTTPException, None),
        (RequestValidationError, 422),
    ):
        app.add_exception_handler(kind, _answer_with(status))
    app.add_middleware(Gate, names=names)
    return app


def get_page(request: Request, labelling: CurrentLabelling, token: str | None = None) -> Response:
    """The page; a token in its address is exchanged for a cookie."""
    if token is None:
        return _file("index.html")
    caller = request.client.host if request.client else ""
    if not labelling.guesses.spend(caller):
        raise HTTPException(429, "These are too many wrong tokens; wait a minute.")
    person = labelling.door.by_token(token)
    if person is None:
        raise HTTPException(403, WRONG)
    labelling.guesses.give_back(caller)
    answer = RedirectResponse("/", status_code=303)
    answer.set_cookie(
        labelling.door.cookie_name,
        labelling.door.cookie(person),
        max_age=YEAR,
        httponly=True,
        samesite="strict",
        path="/",
    )
    return answer


def get_file(name: str) -> Response:
    """A file of the page; there are no folders in it, and what is not in it is not looked for."""
    if name not in {path.name for path in PAGE.iterdir()}:
        raise HTTPException(404, "There is no such page; open the address that likewise label printed.")
    return _file(name)


def _file(name: str) -> Response:
    kind = {".js": "text/javascript", ".svg": "image/svg+xml"}.get(Path(name).suffix) or mimetypes.guess_type(name)[0]
    return FileResponse(PAGE / name, media_type=kind, headers={"cache-control": "no-cache"})


def get_report(labelling: CurrentLabelling, person: Person) -> Response:
    """The report of the model that was learned last."""
    if labelling.learner.report is None or not labelling.learner.report.exists():
        raise HTTPException(404, "Nothing has been learned yet; press learn first.")
    return FileResponse(labelling.learner.report, media_type="text/html", headers={"cache-control": "no-store"})


def _answer_with(status: int | None) -> Any:
    """A handler that answers with the exception's sentence."""

    async def handle(request: Request, error: Any) -> Response:
        if isinstance(error, RequestValidationError):
            sentence = _sentence(error)
        elif isinstance(error, HTTPException):
            sentence = str(error.detail)
        else:
            sentence = str(error)
        code = status or getattr(error, "status_code", None) or error.status
        return JSONResponse({"detail": sentence}, code, headers=getattr(error, "headers", None))

    return handle


def _sentence(error: RequestValidationError) -> str:
    """The first thing that is wrong with a message."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
    wrong = str(first["msg"]).removeprefix("Value error, ")
    return f"{place or 'The message'}: {wrong[:1].lower()}{wrong[1:]}."
