"""A TCP relay in front of a server that can stop passing anything on, as a network that swallows packets does."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self


class Gate:
    """Listens on 127.0.0.1:`port` and relays to `target`. While `shut`, bytes and new connections just wait."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._open = threading.Event()
        self._open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self._over = False

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over = True
        self._open.set()
        for one in (self._listener, *self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def shut(self) -> None:
        """From now on nothing gets through, and nobody is told."""
        self._open.clear()

    def open(self) -> None:
        """Let everything through again."""
        self._open.set()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        self._sockets.append(client)
        self._open.wait()
        if self._over:
            return
        try:
            server = socket.create_connection(self._target)
        except OSError:
            client.shutdown(socket.SHUT_RDWR)
            return
        self._sockets.append(server)
        for source, sink in ((client, server), (server, client)):
            threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                self._open.wait()
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
