# Looks for what should not be there: anything of the tests, of the service or of the host.
found, writable = [], []
for top, folders, files in os.walk("/"):
    if top.startswith(("/usr", "/lib", "/proc")):
        folders[:] = []
        continue
    if os.access(top, os.W_OK):
        writable.append(top)
    for name in files:
        path = os.path.join(top, name)
        if any(word in path for word in ("shadow", "sluice", "id_rsa", ".ssh", ".git", "tests")):
            found.append(path)
contained("no host files", not found, found)
contained("few writable folders", len(writable) <= 8, writable)
for path in ("/root", "/home", "/work", "/etc/shadow", "/etc/ssh", "/var/log", "/boot", "/srv", "/opt", "/var/lib"):
    attempt(f"look at {path}", lambda: os.listdir(path) or 1 / 0 if os.path.isdir(path) else open(path).read(1))
contained("own folder is empty", os.listdir(".") == [], os.listdir("."))
