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
# What lies behind a stream leads nowhere: not to the folder of a file, not to what else that folder holds.
for descriptor in sorted(opened):
    for path in (f"/proc/self/fd/{descriptor}", f"/dev/fd/{descriptor}"):
        attempt(f"folder of {path}", lambda: os.listdir(path + "/.."))
        attempt(f"beside {path}", lambda: os.open(path + "/../hostname", os.O_RDONLY))
    attempt(f"above {descriptor}", lambda: os.open("..", os.O_RDONLY, dir_fd=descriptor))
    attempt(f"enter {descriptor}", lambda: os.fchdir(descriptor))
contained("no host file", not any("sluice_attack" in path for path in opened.values()), opened)
