# Descriptors that travel through sockets are in nobody's table.
import socket

sent = 0
pairs = []
try:
    while sent < 200000:
        a, b = socket.socketpair()
        pairs.append((a, b))
        a.setblocking(False)
        try:
            while True:
                socket.send_fds(a, [b"x"], [a.fileno()] * 200)
                sent += 200
        except BlockingIOError:
            pass
except OSError:
    pass
os.write(1, f"{sent}\n".encode())
