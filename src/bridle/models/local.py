"""`local/…`: a GGUF model in this process, through llama.cpp (the extra `[local]`).

It needs no key and no network. Calls of tools are held in form by a grammar made from their
schemas, so they can always be read; whether they make sense is up to the model. One thread by
default: on a busy machine two are many times slower than one.
"""

from __future__ import annotations

import queue
import re
import secrets
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import msgspec

from bridle.errors import ConfigError, ModelError
from bridle.models.local_prompt import show
from bridle.ports.model import CallDelta, CallStart, Finish, TextDelta
from bridle.types.ledger import Price
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from bridle.ports.model import ModelRequest, StreamPart
    from bridle.types.messages import StopReason

SMALL = 1_000_000_000
"""Weights below this many bytes get brief tools: required parameters only."""

SMALL_OUTPUT, LARGE_OUTPUT = 256, 2048
"""Tokens of an answer unless the request says more; small models that get lost never stop."""


class LocalModel:
    """A model from a GGUF file. The weights are loaded by the first request and kept.

    Requests are answered one after another. Raises `ConfigError` when llama.cpp is not installed or
    the file is not a model.
    """

    def __init__(
        self,
        path: Path,
        *,
        id: str | None = None,
        threads: int = 1,
        context_window: int = 4096,
    ) -> None:
        check_weights(path)
        self.path = path
        self.id = id or f"local/{path.name}"
        self.price: Price | None = Price()
        self.context_window: int | None = context_window
        self._threads = threads
        self._brief = path.stat().st_size < SMALL
        self._engine: _Engine | None = None
        self._loading = threading.Lock()

    async def stream(self, request: ModelRequest) -> AsyncIterator[StreamPart]:
        """Answer one request; closing the stream stops the model at its next token."""
        body = self._body(request)
        engine = await anyio.to_thread.run_sync(self._load)
        reading = _Reading(structured=bool(request.tools) and "response_format" in body)
        job = _Job(engine, body)
        try:
            while (chunk := await job.next()) is not None:
                for part in reading.feed(chunk):
                    yield part
            for part in reading.end(self.id):
                yield part
        finally:
            job.stop()

    def close(self) -> None:
        """Give the weights' memory back; the next request loads them again."""
        with self._loading:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _load(self) -> _Engine:
        with self._loading:
            if self._engine is None:
                window = self.context_window or 4096
                self._engine = _Engine(self.path, threads=self._threads, window=window)
            return self._engine

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        settings = request.settings
        shown = show(request, brief=self._brief)
        body: dict[str, Any] = {
            "messages": shown.turns,
            "max_tokens": settings.max_output_tokens
            or (SMALL_OUTPUT if self._brief else LARGE_OUTPUT),
            "temperature": settings.temperature or 0.0,
            "stream": True,
            "stream_options": {"include_usage": True},
            "cache_prompt": True,
        }
        if shown.schema is not None:
            named = {"name": "answer", "schema": shown.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif settings.stop_sequences:
            body["stop"] = list(settings.stop_sequences)
        return body


def check_weights(path: Path) -> None:
    """Raise `ConfigError` unless the file is there and looks like a model."""
    try:
        with path.open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise ConfigError(f"Cannot read {path}: {error.strerror}.") from error
    if magic != b"GGUF":
        raise ConfigError(f"{path} is not a GGUF file.")


class _Engine:
    """llama.cpp's server, without its server: it listens on a socket that only we can reach."""

    def __init__(self, path: Path, *, threads: int, window: int) -> None:
        try:
            import xllamacpp
        except ImportError as error:
            raise ConfigError('Local models need llama.cpp: pip install "bridle[local]"') from error
        self._directory = tempfile.TemporaryDirectory(
            prefix="bridle-llama-", ignore_cleanup_errors=True
        )
        params = xllamacpp.CommonParams()
        params.model.path = str(path)
        params.n_ctx = window
        params.n_parallel = 1
        params.cpuparams.n_threads = threads
        params.cpuparams_batch.n_threads = threads
        params.n_threads_http = 1
        params.hostnames = [str(Path(self._directory.name) / "llama.sock")]
        params.api_keys = [secrets.token_urlsafe(24)]
        params.ui = False
        params.endpoint_slots = False
        params.warmup = False
        params.verbosity = -1
        try:
            self.server: Any = xllamacpp.Server(params)
        except (RuntimeError, ValueError) as error:
            self._directory.cleanup()
            raise ConfigError(
                f"{path} could not be loaded: it is damaged or of a kind that this "
                "llama.cpp does not know."
            ) from error

    def close(self) -> None:
        self.server = None
        self._directory.cleanup()


class _Job:
    """One request in a thread of its own; its chunks come through a queue.

    The thread is not a daemon: an interpreter that ends must wait for llama.cpp to let go.
    """

    def __init__(self, engine: _Engine, body: dict[str, Any]) -> None:
        self._chunks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stopped = False
        threading.Thread(target=self._run, args=(engine, body), name="bridle-local").start()

    async def next(self) -> dict[str, Any] | None:
        """The next chunk; None after the last. Raises what the model failed with."""
        got = await anyio.to_thread.run_sync(self._chunks.get, abandon_on_cancel=True)
        if isinstance(got, Exception):
            raise ModelError(
                f"the local model failed: {got}", kind="bad_request", provider="local"
            ) from got
        if got is not None and "error" in got:
            raise _refused(got["error"])
        chunk: dict[str, Any] | None = got
        return chunk

    def stop(self) -> None:
        """Let the model stop at its next token, and whoever waits for a chunk go on."""
        self._stopped = True
        self._chunks.put(None)

    def _run(self, engine: _Engine, body: dict[str, Any]) -> None:
        def receive(chunk: dict[str, Any]) -> bool:
            self._chunks.put(chunk)
            return self._stopped

        try:
            engine.server.handle_chat_completions(body, receive)
            self._chunks.put(None)
        except Exception as error:  # noqa: BLE001 - raised again where the stream is read
            self._chunks.put(error)


class _Reading:
    """Turns chunks into parts; with tools, the text is JSON that is read as it comes."""

    def __init__(self, *, structured: bool) -> None:
        self._structured = structured
        self._raw = ""
        self._told = 0
        self._length = False
        self._usage: Usage | None = None

    def feed(self, chunk: dict[str, Any]) -> Iterator[StreamPart]:
        if used := chunk.get("usage"):
            details = used.get("prompt_tokens_details") or {}
            self._usage = Usage(
                input_tokens=used.get("prompt_tokens", 0),
                output_tokens=used.get("completion_tokens", 0),
                cached_tokens=details.get("cached_tokens", 0),
            )
        for choice in chunk.get("choices", ()):
            self._length |= choice.get("finish_reason") == "length"
            if text := choice.get("delta", {}).get("content"):
                self._raw += text
                if ready := self._ready():
                    yield TextDelta(ready)

    def end(self, model: str) -> Iterator[StreamPart]:
        stop: StopReason = "max_tokens" if self._length else "end_turn"
        if self._structured and not self._length:
            try:
                value = msgspec.json.decode(self._raw)
            except msgspec.DecodeError as error:
                raise ModelError(
                    f"the local model wrote no JSON: {self._raw[:200]!r}",
                    kind="protocol",
                    provider="local",
                ) from error
            if "tool" in value:
                yield CallStart(0, value["tool"])
                yield CallDelta(0, msgspec.json.encode(value["args"]).decode())
                stop = "tool_use"
        yield Finish(stop=stop, usage=self._usage, model=model)

    def _ready(self) -> str:
        """The text that can be told by now: all of it, or what is in the answer's string."""
        text = answer_so_far(self._raw) if self._structured else self._raw
        fresh, self._told = text[self._told :], max(self._told, len(text))
        return fresh


_ANSWER = re.compile(r'\s*\{\s*"answer"\s*:\s*"')


def answer_so_far(raw: str) -> str:
    """The text of `{"answer": "…` as far as it has come; empty for anything else."""
    opening = _ANSWER.match(raw)
    if opening is None:
        return ""
    body = re.match(r'(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*', raw[opening.end() :])
    text = body.group() if body else ""
    text = re.sub(r"\\u[dD][89abAB][0-9a-fA-F]{2}\Z", "", text)
    try:
        return str(msgspec.json.decode(f'"{text}"'))
    except msgspec.DecodeError:
        return ""


def _refused(error: dict[str, Any]) -> ModelError:
    told = str(error.get("message", error))
    if error.get("type") == "exceed_context_size_error":
        return ModelError(told, kind="context_overflow", status=400, provider="local")
    return ModelError(told, kind="bad_request", status=error.get("code"), provider="local")
