# The host listens at the abstract name and the path that standard input gives.
import socket

name, path = sys.stdin.read().split()


def connect(address, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_UNIX, kind) as s:
        s.connect(address)


attempt("abstract", lambda: connect("\0" + name))
attempt("path", lambda: connect(path))
for known in ("/run/dbus/system_bus_socket", "/run/systemd/private", "/run/systemd/notify", "/var/run/docker.sock",
              "/run/systemd/journal/socket", "/run/containerd/containerd.sock"):
    attempt(known, lambda: connect(known))
    attempt(known + " datagram", lambda: connect(known, socket.SOCK_DGRAM))
