"""What the wire formats share: sending a body, and turning its event stream into parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import anyio

from bridle.errors import ModelError
from bridle.models.errors import provider_error, read_complaint
from bridle.models.packed import unpacker
from bridle.models.proxies import public_url
from bridle.models.sse import SseParser
from bridle.types.base import Fixed
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from bridle.models.http import HttpClient, HttpResponse
    from bridle.models.sse import SseEvent
    from bridle.ports.model import Finish, StreamPart

MAX_ERROR_BYTES = 256 * 1024
_DRAIN_SECONDS = 0.25
_AFTERMATH_SECONDS = 5.0
_SECRET = lazy(r"auth|key|token|secret|cookie")
_SHORTEST_SECRET = 8
"""Placeholders such as `x` or `ollama` are no secrets; hiding them would garble messages."""
_NOT_EVENTS = ("application/json", "text/html", "application/xml", "text/xml", "image/")


class Decoder(Protocol):
    """Turns the events of one answer into parts."""

    @property
    def done(self) -> bool:
        """Whether nothing more is expected."""
        ...

    @property
    def ended(self) -> bool:
        """Whether the provider has said that the answer is complete."""
        ...

    def feed(self, event: SseEvent) -> Iterable[StreamPart]:
        """Take one event. Raises ModelError for an error event or an unreadable one."""
        ...

    def finish(self) -> Finish:
        """End the answer. Raises ModelError(kind="cut") when its end was not seen."""
        ...


class Endpoint(Fixed, frozen=True, kw_only=True):
    """A provider's address, with the headers that open it; its text form shows no secret."""

    provider: str
    base_url: str
    http: HttpClient
    headers: tuple[tuple[str, str], ...]
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Endpoint({self.provider}, {public_url(self.base_url)})"

    async def answer(
        self, path: str, body: Callable[[], bytes], decoder: Decoder
    ) -> AsyncIterator[StreamPart]:
        """Send a request and yield the parts of its answer, `Finish` last.

        The body is made on the first step, so that all errors come from the iterator. Closing it
        closes the connection, which stops the provider.
        """
        try:
            response = await self._post(path, body())
            try:
                parser, plain = SseParser(), unpacker(_packing(response))
                while not decoder.done and (data := await _receive(response, decoder)):
                    for event in parser.feed(plain(data)):
                        for part in decoder.feed(event):
                            yield part
                finish = decoder.finish()
                await response.drain(_DRAIN_SECONDS)
                yield finish
            finally:
                await response.aclose()
        except ModelError as error:
            error.provider = error.provider or self.provider
            raise

    async def _post(self, path: str, body: bytes) -> HttpResponse:
        """Send a body; give back a response that is an event stream. Raises ModelError."""
        response = await self.http.send(
            "POST", join_url(self.base_url, path), headers=self.headers, body=body
        )
        opened = False
        try:
            await self._check(response)
            opened = True
        finally:
            if not opened:
                await response.aclose()
        return response

    async def _check(self, response: HttpResponse) -> None:
        status = response.status
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if 200 <= status < 300 and not kind.startswith(_NOT_EVENTS):
            return
        body = await _read_refusal(response)
        complaint = read_complaint(body)
        if status >= 400 or (kind == "application/json" and b'"error"' in body):
            raise provider_error(
                complaint,
                provider=self.provider,
                status=status if status >= 400 else None,
                headers=response.headers,
                secrets=self.secrets,
            )
        raise ModelError(
            f"{self.provider}: {public_url(self.base_url)} answered HTTP {status} with "
            f"{kind or 'no content type'} instead of an event stream; is the base URL right?",
            kind="bad_request",
            status=status,
        )


def make_endpoint(
    *,
    provider: str,
    base_url: str,
    http: HttpClient,
    auth: Mapping[str, str],
    headers: Mapping[str, str] | None,
) -> Endpoint:
    """An endpoint that sends JSON and its credentials; given headers replace those of its own."""
    merged = {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "accept-encoding": "identity",  # without a word about it, any packing would do
    }
    merged.update({name.lower(): value for name, value in auth.items()})
    merged.update({name.lower(): value for name, value in (headers or {}).items()})
    hidden = {value for name, value in merged.items() if _SECRET.search(name)} | {*auth.values()}
    secrets = {value.rpartition(" ")[2] for value in hidden}
    secrets = {value for value in secrets if len(value) >= _SHORTEST_SECRET}
    return Endpoint(
        provider=provider,
        base_url=base_url,
        http=http,
        headers=tuple(merged.items()),
        secrets=tuple(sorted(secrets)),
    )


def join_url(base: str, path: str) -> str:
    """Append a path to a base URL, before the query that the base may have."""
    front, mark, query = base.partition("?")
    url = front.rstrip("/") + path
    if not mark:
        return url
    return f"{url}{'&' if '?' in path else '?'}{query}"


def _packing(response: HttpResponse) -> str:
    return response.headers.get("content-encoding", "")


async def _read_refusal(response: HttpResponse) -> bytes:
    """The body of a refusal, as much of it as comes; its status is what counts."""
    with anyio.move_on_after(_AFTERMATH_SECONDS):
        try:
            return unpacker(_packing(response))(await response.read(MAX_ERROR_BYTES))
        except ModelError:
            pass
    return b""


async def _receive(response: HttpResponse, decoder: Decoder) -> bytes:
    """More of the stream.

    After the answer's end only its usage may follow: a connection that breaks or falls silent then
    is no failure.
    """
    if not decoder.ended:
        return await response.receive()
    with anyio.move_on_after(_AFTERMATH_SECONDS):
        try:
            return await response.receive()
        except ModelError:
            pass
    return b""
