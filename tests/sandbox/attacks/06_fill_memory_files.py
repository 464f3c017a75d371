# Fills every place where files can be written, and says how much went in.
total = 0
for folder in (".", "/tmp", "/dev/shm", "/var/tmp", "/run"):
    try:
        with open(f"{folder}/sluice_attack_fill", "wb", buffering=0) as f:
            while True:
                written = f.write(b"x" * (1 << 20))
                total += written
                if written == 0:
                    break
    except OSError:
        pass
print(total)
