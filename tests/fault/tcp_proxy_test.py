#!/usr/bin/env python3
"""The proxy does to connections what it says."""
import os
import socket
import threading
import time
import unittest

from tcp_proxy import TcpProxy


class Echo:
    """Sends back what it gets."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    @staticmethod
    def _answer(connection):
        try:
            while data := connection.recv(1 << 16):
                connection.sendall(data)
        except OSError:
            pass
        connection.close()


def connect(address):
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=5)


def ask(connection, data):
    connection.sendall(data)
    back = b""
    while len(back) < len(data):
        part = connection.recv(1 << 16)
        if not part:
            raise ConnectionError("closed")
        back += part
    return back


class TcpProxyTest(unittest.TestCase):
    def setUp(self):
        self.echo = Echo()

    def tearDown(self):
        self.echo.listener.close()

    def test_passes_all_bytes_in_order(self):
        data = bytes(range(256)) * 20000
        with TcpProxy(self.echo.address) as link, connect(link.address) as connection:
            sender = threading.Thread(target=connection.sendall, args=(data,))
            sender.start()
            back = b""
            while len(back) < len(data):
                back += connection.recv(1 << 16)
            sender.join()
            self.assertEqual(back, data)

    def test_tells_the_end_of_one_side_to_the_other(self):
        with TcpProxy(self.echo.address) as link, connect(link.address) as connection:
            connection.sendall(b"last")
            connection.shutdown(socket.SHUT_WR)
            self.assertEqual(connection.recv(10), b"last")
            self.assertEqual(connection.recv(10), b"")

    def test_delays_each_way(self):
        with TcpProxy(self.echo.address) as link, connect(link.address) as connection:
            link.set(delay=0.1)
            start = time.monotonic()
            ask(connection, b"x")
            self.assertGreaterEqual(time.monotonic() - start, 0.2)

    def test_throttles(self):
        with TcpProxy(self.echo.address) as link, connect(link.address) as connection:
            link.set(bytes_per_second=20000)
            start = time.monotonic()
            self.assertEqual(ask(connection, b"x" * 10000), b"x" * 10000)
            self.assertGreaterEqual(time.monotonic() - start, 0.25)

    def test_cuts_and_heals(self):
        with TcpProxy(self.echo.address) as link, connect(link.address) as connection:
            ask(connection, b"before")
            link.cut()
            with self.assertRaises(OSError):
                ask(connection, b"now")
            with self.assertRaises(OSError):
                ask(connect(link.address), b"anew")
            link.heal()
            with connect(link.address) as healed:
                self.assertEqual(ask(healed, b"after"), b"after")

    def test_freezes_without_a_sign_and_goes_on(self):
        with TcpProxy(self.echo.address) as link, connect(link.address) as connection:
            link.freeze()
            connection.sendall(b"held")
            connection.settimeout(0.3)
            with self.assertRaises(TimeoutError):
                connection.recv(10)
            with connect(link.address) as fresh:  # is accepted, and hears nothing either
                fresh.settimeout(0.3)
                with self.assertRaises(TimeoutError):
                    ask(fresh, b"?")
            link.heal()
            connection.settimeout(5)
            self.assertEqual(connection.recv(10), b"held")

    def test_strands_old_connections_only(self):
        with TcpProxy(self.echo.address) as link, connect(link.address) as old:
            ask(old, b"before")
            link.strand()
            link.heal()
            old.settimeout(0.3)
            with self.assertRaises(TimeoutError):
                ask(old, b"?")
            with connect(link.address) as fresh:
                self.assertEqual(ask(fresh, b"new"), b"new")

    def test_freezes_one_way(self):
        with TcpProxy(self.echo.address) as link, connect(link.address) as connection:
            link.freeze(only="back")
            connection.sendall(b"there")
            connection.settimeout(0.3)
            with self.assertRaises(TimeoutError):
                connection.recv(10)
            self.assertEqual(link.bytes_passed, 5)

    def test_forks_by_the_process_that_connects(self):
        asked = []

        def target(pid):
            asked.append(pid)
            return self.echo.address

        with TcpProxy(target) as link, connect(link.address) as connection:
            self.assertEqual(ask(connection, b"here"), b"here")
        self.assertEqual(asked, [os.getpid()])


if __name__ == "__main__":
    unittest.main()
