# Each child stays far below the limit; together they are far above it.
import time

for _ in range(16):
    if os.fork() == 0:
        held = bytearray(b"x" * (40 << 20))
        time.sleep(60)
        os._exit(0)
time.sleep(60)
