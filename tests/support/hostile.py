"""A web server on the loopback that answers byte by byte what a test tells it to."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

Answer = bytes | Callable[[socket.socket], None]


class HostileServer:
    """Serves `answers` by path; a callable gets the socket and may do anything with it."""

    def __init__(self) -> None:
        self.answers: dict[str, Answer] = {}
        self.requests: list[str] = []
        self._ear = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._ear.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def url(self, path: str) -> str:
        return f"http://{self.host}{path}"

    def page(self, path: str, body: str | bytes, **headers: str) -> None:
        """Answer a path properly; underscores in names of headers are dashes."""
        data = body.encode() if isinstance(body, str) else body
        named = {"content_type": "text/html; charset=utf-8", **headers}
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in named.items()]
        head = ["HTTP/1.1 200 OK", *lines, f"Content-Length: {len(data)}", "Connection: close"]
        self.answers[path] = "\r\n".join([*head, "", ""]).encode() + data

    def redirect(self, path: str, target: str, status: int = 302) -> None:
        self.answers[path] = (
            f"HTTP/1.1 {status} Found\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n".encode()
        )

    def __enter__(self) -> HostileServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ear.close()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._ear.accept()
            except OSError:
                return
            self._open.append(connection)
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            data = b""
            while b"\r\n\r\n" not in data:
                more = connection.recv(65536)
                if not more:
                    return
                data += more
            line = data.split(b"\r\n", 1)[0].decode()
            self.requests.append(line)
            path = line.split(" ")[1]
            answer = self.answers.get(path, self.answers.get(path.split("?")[0]))
            if answer is None:
                answer = b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone"
            if callable(answer):
                answer(connection)
            else:
                connection.sendall(answer)
