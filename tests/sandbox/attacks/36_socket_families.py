import socket

for name, family, kind in (("AF_VSOCK", 40, socket.SOCK_STREAM), ("AF_PACKET", 17, socket.SOCK_RAW),
                           ("AF_NETLINK", 16, socket.SOCK_RAW), ("AF_ALG", 38, socket.SOCK_SEQPACKET),
                           ("AF_BLUETOOTH", 31, socket.SOCK_RAW), ("AF_TIPC", 30, socket.SOCK_STREAM),
                           ("AF_XDP", 44, socket.SOCK_RAW), ("AF_KEY", 15, socket.SOCK_RAW),
                           ("AF_CAN", 29, socket.SOCK_RAW), ("AF_RDS", 21, socket.SOCK_SEQPACKET),
                           ("AF_SMC", 43, socket.SOCK_STREAM), ("AF_QIPCRTR", 42, socket.SOCK_DGRAM),
                           ("AF_NFC", 39, socket.SOCK_STREAM), ("AF_KCM", 41, socket.SOCK_DGRAM)):
    attempt_apart(f"socket {name}", lambda: socket.socket(family, kind))
attempt_apart("socket AF_INET raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
