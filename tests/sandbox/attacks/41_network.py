# The host listens at the port that standard input names.
import socket

port = int(sys.stdin.read())
for address in ("127.0.0.1", "127.0.0.2", "0.0.0.0", "10.0.0.1", "169.254.169.254", "8.8.8.8"):
    def tcp():
        with socket.socket() as s:
            s.settimeout(1)
            s.connect((address, port))

    def udp():
        with socket.socket(type=socket.SOCK_DGRAM) as s:
            s.sendto(b"x", (address, 53))

    attempt(f"tcp {address}", tcp)
    if not address.startswith("127.") and address != "0.0.0.0":
        attempt(f"udp {address}", udp)


def tcp6():
    with socket.socket(socket.AF_INET6) as s:
        s.settimeout(1)
        s.connect(("::1", port))


attempt("tcp ::1", tcp6)
attempt("dns", lambda: socket.getaddrinfo("example.com", 80))
