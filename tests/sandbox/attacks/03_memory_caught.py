# Catches every MemoryError and goes on.
kept = []
while True:
    try:
        kept.append(bytearray(b"x" * (1 << 22)))
    except MemoryError:
        kept.append(b"y" * 1024)
