signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def allocate(length):
    with open("sluice_attack_huge", "wb") as f:
        os.posix_fallocate(f.fileno(), 0, length)
    return length


def write(length):
    written = 0
    with open("sluice_attack_huge", "wb", buffering=0) as f:
        while written < length:
            written += f.write(b"x" * (1 << 20))
    return written


attempt("fallocate 16 GiB", lambda: allocate(16 << 30))
attempt("write 1 GiB", lambda: write(1 << 30))
