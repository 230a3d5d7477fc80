"""Plain non-blocking sockets under anyio, as far as the proxy needs them."""

from __future__ import annotations

import errno
import os
import socket
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from bridle.sandbox.hosts import Address

CHUNK = 64 * 1024


async def accept(ear: socket.socket) -> socket.socket:
    """The next connection."""
    while True:
        try:
            connection, _address = ear.accept()
        except BlockingIOError:
            await anyio.wait_readable(ear)
        else:
            connection.setblocking(False)
            return connection


async def connect(address: Address, port: int) -> socket.socket:
    """A connection to an address."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        code = made.connect_ex((str(address), port))
        if code == errno.EINPROGRESS:
            await anyio.wait_writable(made)
            code = made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        _check(code)
    except BaseException:
        made.close()
        raise
    return made


def _check(code: int) -> None:
    if code:
        raise OSError(code, os.strerror(code))


async def receive(source: socket.socket) -> bytes:
    """Some bytes; empty at the end."""
    while True:
        try:
            return source.recv(CHUNK)
        except BlockingIOError:
            await anyio.wait_readable(source)


async def send_all(sink: socket.socket, data: bytes) -> None:
    """All of the bytes."""
    view = memoryview(data)
    while view:
        try:
            view = view[sink.send(view) :]
        except BlockingIOError:
            await anyio.wait_writable(sink)


async def read_head(client: socket.socket, limit: int) -> tuple[bytes, bytes]:
    """The head of an HTTP message without its empty line, and what came after it."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = await receive(client)
        data += more
        if not more or len(data) > limit:
            raise OSError("no complete request")
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


async def answer(client: socket.socket, status: int, text: str) -> None:
    """A short answer of the proxy itself."""
    reasons = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway"}
    body = f"bridle: {text}\n".encode()
    head = (
        f"HTTP/1.1 {status} {reasons[status]}\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    await send_all(client, head.encode() + body)


async def relay(one: socket.socket, other: socket.socket) -> None:
    """Carry bytes both ways until both sides have ended."""

    async def carry(source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := await receive(source):
                await send_all(sink, data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(carry, one, other)
        tasks.start_soon(carry, other, one)
