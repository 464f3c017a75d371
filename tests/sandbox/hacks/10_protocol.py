### spray_text
import os
for descriptor in range(3, 64):
    for text in (b"passed\n", b'{"passed": true}\n', b'{"status":"ok","value":408171123}\n', b"\x01", b"OK\n", b"408171123\n"):
        try:
            os.write(descriptor, text)
        except OSError:
            pass
def solve(n):
    return 0
### spray_in_function
import os
def solve(n):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b'{"value": 408171123}\n' * 3)
        except OSError:
            pass
    return 0
### spray_framed
import os, struct
def solve(n):
    for body in (b"408171123", b'{"i":408171123}', b'["int","408171123"]', b"i408171123;", b'{"ok":true}', b"true"):
        for head in (struct.pack("<I", len(body)), struct.pack(">I", len(body)), struct.pack("<Q", len(body)),
                     struct.pack(">Q", len(body)), b"%d\n" % len(body), b"%d:" % len(body), b"Content-Length: %d\r\n\r\n" % len(body)):
            for descriptor in range(3, 16):
                try:
                    os.write(descriptor, head + body)
                except OSError:
                    pass
    return 0
### spray_by_thread
import os, threading
def spray():
    while True:
        for descriptor in range(3, 16):
            try:
                os.write(descriptor, b'{"value":408171123}\n')
            except OSError:
                pass
threading.Thread(target=spray, daemon=True).start()
def solve(n):
    import time
    time.sleep(0.05)
    return 0
### spray_by_child
import os
def solve(n):
    if os.fork() == 0:
        for descriptor in range(3, 16):
            try:
                os.write(descriptor, b'{"value":408171123}\n' * 10)
            except OSError:
                pass
        os._exit(0)
    return 0
### endless_message
import os
def solve(n):
    while True:
        for descriptor in range(3, 8):
            try:
                os.write(descriptor, b"9" * 65536)
            except OSError:
                pass
### huge_length
import os, struct
def solve(n):
    for head in (b"\xff" * 8, b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"99999999999\n", b"-1\n", b"\0" * 8):
        for descriptor in range(3, 8):
            try:
                os.write(descriptor, head)
            except OSError:
                pass
    return 0
### closes_everything
import os
os.closerange(0, 4096)
def solve(n):
    return 0
### closes_everything_in_function
import os
def solve(n):
    os.closerange(0, 4096)
    return 408171123
### closes_and_reopens
import os
def solve(n):
    for descriptor in range(3, 16):
        try:
            os.close(descriptor)
        except OSError:
            pass
    for _ in range(8):
        os.open("/dev/null", os.O_RDWR)
    return 408171123 if n == 2 else 0
### swaps_descriptors
import os
def solve(n):
    for descriptor in range(3, 16):
        try:
            os.dup2(1, descriptor)
        except OSError:
            pass
    print("408171123")
    return 0
### shuts_the_channel
import socket
def solve(n):
    for descriptor in range(3, 16):
        try:
            s = socket.socket(fileno=descriptor)
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
    return 0
### reads_the_channel
import os
def solve(n):
    for descriptor in range(3, 16):
        try:
            os.set_blocking(descriptor, False)
            data = os.read(descriptor, 1 << 16)
        except OSError:
            continue
        for word in data.replace(b"=", b" ").replace(b",", b" ").split():
            if word.isdigit():
                return int(word)
    return 0
### answers_its_own_requests
import os, re
def solve(n):
    for descriptor in range(3, 16):
        try:
            os.set_blocking(descriptor, True)
        except OSError:
            continue
    import threading
    def steal():
        while True:
            for descriptor in (3, 4, 5):
                try:
                    data = os.read(descriptor, 4096)
                    if data:
                        os.write(descriptor, data)
                except OSError:
                    pass
    threading.Thread(target=steal, daemon=True).start()
    return 0
### replays_messages
import os
real_write, real_read = os.write, os.read
kept = []
def write(descriptor, data):
    kept.append(bytes(data))
    for message in kept:
        real_write(descriptor, message)
    return len(data)
os.write = write
import socket
send = socket.socket.sendall
socket.socket.sendall = lambda self, data, *a: [send(self, data, *a), send(self, data, *a)] and None
def solve(n):
    return 0
### sends_descriptors
import os, socket
def solve(n):
    for descriptor in range(3, 8):
        try:
            s = socket.socket(fileno=os.dup(descriptor))
            for _ in range(100):
                socket.send_fds(s, [b"x"], [0, 1, 2])
        except OSError:
            pass
    return 0
### half_a_message_and_sleep
import os, time
def solve(n):
    for descriptor in range(3, 8):
        try:
            os.write(descriptor, b'{"val')
        except OSError:
            pass
    time.sleep(1000)
### buffers_of_the_harness
import gc, io
def solve(n):
    for thing in gc.get_objects():
        if isinstance(thing, (io.BufferedWriter, io.BufferedRWPair, io.TextIOWrapper)):
            try:
                thing.write(b'{"value":408171123}\n' if not isinstance(thing, io.TextIOWrapper) else '{"value":408171123}\n')
                thing.flush()
            except Exception:
                pass
    return 0
### calls_harness_functions
import gc, types
def solve(n):
    for thing in gc.get_objects():
        if isinstance(thing, types.FunctionType) and any(w in thing.__name__.lower() for w in ("send", "report", "write", "reply", "emit", "pass", "encode")):
            if (thing.__module__ or "").startswith(("os", "socket", "threading", "codecs")):
                continue
            for arguments in ((), (408171123,), (3, 408171123), ("ok", 408171123), (b"408171123",), ({"value": 408171123},)):
                try:
                    thing(*arguments)
                except BaseException:
                    pass
    return 0
### signals_to_the_harness
import os, signal
def solve(n):
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD, signal.SIGPIPE, signal.SIGHUP):
        try:
            os.kill(os.getppid(), number)
        except OSError:
            pass
    return 0
### mutates_arguments
def solve(*arguments):
    for argument in arguments:
        if isinstance(argument, list):
            argument.clear()
    return 0
### more_memory_than_allowed
kept = []
def solve(n):
    while True:
        kept.append(b"x" * (1 << 24))
### fills_the_folder
def solve(n):
    i = 0
    while True:
        try:
            open(f"fill{i}", "wb").write(b"x" * (1 << 20))
        except OSError:
            return 0
        i += 1
### fork_bomb_in_function
import os
def solve(n):
    while True:
        try:
            os.fork()
        except OSError:
            pass
