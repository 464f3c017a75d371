"""A TCP proxy on loopback that spoils what passes through it. Used within the test's own process:

    with TcpProxy(target) as link:      # link.address is where clients connect to
        link.set(delay=0.5)             # seconds, each way
        link.set(bytes_per_second=4096) # each way
        link.cut()                      # connections are reset, new ones too, until heal()
        link.freeze()                   # half-open: connections are accepted, nothing passes, nothing is closed
        link.freeze(only="back")        # what clients send arrives, the answers do not
        link.strand()                   # the connections there are never carry a byte again; new ones do
        link.heal()                     # frozen bytes go on, stranded connections are left as they are

The target is HOST:PORT, or a function that gives one for the process id of a client: then the proxy is a fork in the way.
"""
import os
import selectors
import socket
import struct
import threading
import time

CHUNK = 1 << 16
BACKLOG_BYTES = 1 << 20  # held of one direction; beyond it the sender waits


def process_of(port):
    """The process whose socket on loopback has this local port; None when it is gone."""
    inode = None
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table, encoding="ascii") as f:
            for line in f.readlines()[1:]:
                fields = line.split()
                if int(fields[1].rsplit(":", 1)[1], 16) == port and fields[3] == "01":
                    inode = fields[9] if fields[9] != "0" else inode
    if inode is None:
        return None
    wanted = f"socket:[{inode}]"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            descriptors = os.listdir(f"/proc/{pid}/fd")
        except OSError:  # the process is gone
            continue
        for descriptor in descriptors:
            try:
                if os.readlink(f"/proc/{pid}/fd/{descriptor}") == wanted:
                    return int(pid)
            except OSError:  # closed meanwhile, as the one that listed this folder is
                continue
    return None


class Direction:
    """Bytes on their way from one socket to the other, each with the time it is due."""

    def __init__(self, source, sink, name):
        self.source, self.sink, self.name = source, sink, name
        self.waiting, self.bytes, self.allowance, self.filled = [], 0, 0.0, time.monotonic()
        self.ended = False  # the source will send no more
        self.stranded = False


class TcpProxy:
    def __init__(self, target):
        self.target = target
        self.lock = threading.Lock()
        self.delay, self.rate, self.is_cut, self.frozen = 0.0, None, False, ()
        self.pairs = []  # (client, server, directions)
        self.connections = self.bytes_passed = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.listener.setblocking(False)
        self.closing = False
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing = True
        self.thread.join()

    def set(self, delay=0.0, bytes_per_second=None):
        with self.lock:
            self.delay, self.rate = delay, bytes_per_second

    def cut(self):
        with self.lock:
            self.is_cut = True

    def freeze(self, only=None):
        with self.lock:
            self.frozen = (only,) if only else ("forth", "back")

    def strand(self):
        with self.lock:
            for _, _, ways in self.pairs:
                for way in ways:
                    way.stranded = True

    def heal(self):
        with self.lock:
            self.delay, self.rate, self.is_cut, self.frozen = 0.0, None, False, ()

    def _accept(self):
        while True:
            try:
                client, (_, port) = self.listener.accept()
            except BlockingIOError:
                return
            if self.is_cut:
                self._reset(client)
                continue
            target = self.target(process_of(port)) if callable(self.target) else self.target
            host, _, number = target.rpartition(":")
            try:
                server = socket.create_connection((host, int(number)), timeout=5)
            except OSError:
                self._reset(client)
                continue
            for end in (client, server):
                end.setblocking(False)
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            self.pairs.append((client, server, (Direction(client, server, "forth"), Direction(server, client, "back"))))

    @staticmethod
    def _reset(end):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.close()

    def _receive(self, way, now):
        """False when the connection is over."""
        if way.ended or way.bytes >= BACKLOG_BYTES:
            return True
        try:
            data = way.source.recv(CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if data:
            way.waiting.append((now + self.delay, data))
            way.bytes += len(data)
        else:
            way.ended = True
        return True

    def _send(self, way, now):
        if way.stranded or way.name in self.frozen:
            return True
        if self.rate is not None:
            way.allowance = min(way.allowance + (now - way.filled) * self.rate, self.rate / 4)
        way.filled = now
        while way.waiting and way.waiting[0][0] <= now:
            due, data = way.waiting[0]
            limit = int(way.allowance) if self.rate is not None else len(data)
            if limit <= 0:
                return True
            try:
                sent = way.sink.send(data[:limit])
            except BlockingIOError:
                return True
            except OSError:
                return False
            self.bytes_passed += sent
            way.bytes -= sent
            way.allowance -= sent
            if sent < len(data):
                way.waiting[0] = (due, data[sent:])
            else:
                way.waiting.pop(0)
        if way.ended and not way.waiting:
            try:
                way.sink.shutdown(socket.SHUT_WR)
            except OSError:
                return False
            way.ended = False  # told once
            way.bytes = BACKLOG_BYTES  # nothing more is read from the source
        return True

    def _run(self):
        selector = selectors.DefaultSelector()
        selector.register(self.listener, selectors.EVENT_READ)
        known = {}
        while not self.closing:
            idle = all(not way.waiting for pair in self.pairs for way in pair[2])
            selector.select(0.05 if idle else 0.002)
            with self.lock:
                self._accept()
                now, kept = time.monotonic(), []
                for pair in self.pairs:
                    client, server, ways = pair
                    alive = not self.is_cut
                    for way in ways if alive else ():
                        alive = alive and self._receive(way, now) and self._send(way, now)
                    if alive and not all(way.bytes >= BACKLOG_BYTES and not way.waiting for way in ways):
                        kept.append(pair)
                        continue
                    for end in (client, server):
                        if known.pop(end, None):
                            selector.unregister(end)
                        self._reset(end)
                self.pairs = kept
                for client, server, ways in kept:
                    for way in ways:
                        readable = not way.ended and way.bytes < BACKLOG_BYTES
                        if readable and way.source not in known:
                            selector.register(way.source, selectors.EVENT_READ)
                            known[way.source] = True
                        elif not readable and known.pop(way.source, None):
                            selector.unregister(way.source)
        for client, server, _ in self.pairs:
            self._reset(client)
            self._reset(server)
        self.listener.close()
        selector.close()
