# "leave": listens and stays; "find": looks for it. Two boxes, at once and after each other.
import socket
import time

mode, port = sys.stdin.read().split()
if mode == "leave":
    try:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", int(port)))
        listener.listen()
    except OSError:
        pass
    try:
        hidden = socket.socket(socket.AF_UNIX)
        hidden.bind(f"\0sluice_attack_{port}")
        hidden.listen()
    except OSError:
        pass
    print("ready: contained", flush=True)
    time.sleep(1)
else:
    attempt("loopback", lambda: socket.create_connection(("127.0.0.1", int(port)), 1))
    attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect(f"\0sluice_attack_{port}"))
