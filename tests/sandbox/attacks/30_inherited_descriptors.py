opened = {}
for descriptor in range(4096):
    try:
        os.fstat(descriptor)
    except OSError:
        continue
    try:
        opened[descriptor] = os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        opened[descriptor] = "?"
# The three standard ones and, at most, the channel.
contained("descriptors", set(opened) <= {0, 1, 2}, opened)
contained("no host file", not any("sluice_attack" in path for path in opened.values()), opened)
