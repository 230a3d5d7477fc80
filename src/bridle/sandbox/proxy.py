"""The filtering proxy: the only way out of a sandbox that may reach some hosts.

The sandbox has a network of its own with nothing in it. A stub inside opens a listening socket
there, hands it out to us, and becomes the command; we accept on it and connect from outside. It
speaks CONNECT and plain HTTP, one request per connection.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import anyio

from bridle.sandbox import wire
from bridle.sandbox.groups import only
from bridle.sandbox.hosts import Target, parse_authority
from bridle.types.base import Fixed, Moving
from bridle.types.regex import lazy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from bridle.sandbox.hosts import Address, Hosts

PORT = 3128
URL = f"http://127.0.0.1:{PORT}"
VARIABLES = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), URL),
    **dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), URL),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "localhost,127.0.0.1,::1"),
}
MAX_HEAD = 64 * 1024
MAX_CONNECTIONS = 64
PATIENCE = 30.0
"""How long a client may take for its request, and a host to accept, in seconds."""

_STUB = f"""
import os, sys, _socket
way = _socket.socket(fileno=int(sys.argv[1]))
ear = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
ear.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
ear.bind(("127.0.0.1", {PORT}))
ear.listen(128)
fd = ear.fileno().to_bytes(4, sys.byteorder)
way.sendmsg([b"l"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, fd)])
way.close()
ear.close()
try:
    os.execvp(sys.argv[2], sys.argv[2:])
except OSError as error:
    os.write(2, f"{{sys.argv[2]}}: {{error.strerror}}\\n".encode())
    os._exit(127)
"""

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Addresses of a name."""


async def resolve_name(host: str, port: int) -> list[str]:
    """Ask the system."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(sockaddr[0]) for _family, _type, _proto, _name, sockaddr in found]


def behind(argv: Sequence[str], *, descriptor: int) -> tuple[str, ...]:
    """A command that opens the proxy's socket inside before it starts."""
    python = os.path.realpath(sys.executable)  # an environment may lie where it is not seen
    return (python, "-I", "-S", "-c", _STUB, str(descriptor), *argv)


class Way(Moving):
    """The proxy of one command: the descriptor for the stub, and what was refused so far."""

    descriptor: int
    refused: list[str]


@asynccontextmanager
async def serving(hosts: Hosts, *, resolve: Resolve = resolve_name) -> AsyncIterator[Way]:
    """Serve the proxy of one command as long as the block lasts."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        way = Way(theirs.fileno(), [])
        error: BaseException | None = None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_listen, ours, Gatekeeper(hosts, resolve, way.refused))
                yield way
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            error = only(group)
        if error is not None:
            raise error


async def _listen(ours: socket.socket, gatekeeper: Gatekeeper) -> None:
    await anyio.wait_readable(ours)
    _data, fds, _flags, _address = socket.recv_fds(ours, 1, 1)
    if not fds:
        return
    with socket.socket(fileno=fds[0]) as ear:
        await serve(ear, gatekeeper)


async def serve(ear: socket.socket, gatekeeper: Gatekeeper) -> None:
    """Serve what connects to a listening socket, for ever."""
    ear.setblocking(False)
    slots = anyio.Semaphore(MAX_CONNECTIONS)
    async with anyio.create_task_group() as tasks:
        while True:
            await slots.acquire()
            connection = await wire.accept(ear)
            tasks.start_soon(gatekeeper.serve, connection, slots)


class Gatekeeper(Fixed, frozen=True):
    """Decides over connections and carries the permitted ones."""

    hosts: Hosts
    resolve: Resolve
    refused: list[str]

    async def serve(self, client: socket.socket, slots: anyio.Semaphore) -> None:
        """One connection from its request to its end; errors end it, nothing else."""
        try:
            with client, suppress(OSError, TimeoutError):
                await self._serve(client)
        finally:
            slots.release()

    async def _serve(self, client: socket.socket) -> None:
        with anyio.fail_after(PATIENCE):
            head, rest = await wire.read_head(client, MAX_HEAD)
        request = parse_request(head)
        if request is None:
            await wire.answer(client, 400, "the request is not one that this proxy understands")
            return
        target, forward = request
        server = await self._connect(client, target)
        if server is None:
            return
        with server:
            if forward:
                await wire.send_all(server, forward)
            else:
                await wire.send_all(client, b"HTTP/1.1 200 Connection established\r\n\r\n")
            await wire.send_all(server, rest)
            await wire.relay(client, server)

    async def _connect(self, client: socket.socket, target: Target) -> socket.socket | None:
        """A connection to a permitted host; None after telling the client why not."""
        if not self.hosts.permits(target):
            await self._refuse(client, target, "is not in allowed_hosts")
            return None
        try:
            found = await self.resolve(target.host, target.port)
        except OSError as error:
            await wire.answer(client, 502, f"{target.host}: {error}")
            return None
        addresses: list[Address] = [ipaddress.ip_address(text) for text in found]
        allowed = [each for each in addresses if self.hosts.permits_address(target, each)]
        if not allowed:
            await self._refuse(client, target, "leads to an address that is not allowed")
            return None
        for address in allowed:
            with suppress(OSError, TimeoutError), anyio.fail_after(PATIENCE):
                return await wire.connect(address, target.port)
        await wire.answer(client, 502, f"{target.host}:{target.port} does not answer")
        return None

    async def _refuse(self, client: socket.socket, target: Target, why: str) -> None:
        where = f"{target.host}:{target.port}"
        self.refused.append(where)
        await wire.answer(client, 403, f"the sandbox refused {where}: it {why}")


_REQUEST = lazy(rb"([A-Z]+) ([!-~]+) HTTP/1\.[01]")
_ABSOLUTE = lazy(rb"http://([^/?#]*)([/?][!-~]*)?", re.IGNORECASE)


def parse_request(head: bytes) -> tuple[Target, bytes] | None:
    """The target of a request and the head to send on, which is empty for CONNECT.

    The `Host` that is sent on is the target's, whatever the client wrote.
    """
    line, _, headers = head.partition(b"\r\n")
    match = _REQUEST.fullmatch(line)
    if match is None or b"\0" in head:
        return None
    method, uri = match.groups()
    if method == b"CONNECT":
        target = parse_authority(uri.decode("ascii"), default_port=443)
        return (target, b"") if target else None
    absolute = _ABSOLUTE.fullmatch(uri)
    if absolute is None:
        return None
    target = parse_authority(absolute[1].decode("ascii"), default_port=80)
    if target is None:
        return None
    path = absolute[2] or b"/"
    path = path if path.startswith(b"/") else b"/" + path
    dropped = (b"host:", b"connection:", b"proxy-", b"keep-alive:", b"upgrade:")
    kept = [name for name in headers.split(b"\r\n") if not name.lower().startswith(dropped)]
    host = absolute[1]
    lines = [method + b" " + path + b" HTTP/1.1", b"Host: " + host, b"Connection: close", *kept]
    return target, b"\r\n".join(line for line in lines if line) + b"\r\n\r\n"
