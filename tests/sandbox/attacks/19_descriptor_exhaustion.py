kept = []
try:
    while len(kept) < 1000000:
        kept.append(os.open("/usr/bin/env" if os.path.exists("/usr/bin/env") else ".", os.O_RDONLY))
except OSError as error:
    os.write(1, f"{len(kept)}\n{errno.errorcode[error.errno]}\n".encode())
