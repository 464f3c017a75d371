# What a service that collects files would choke on.
for name, action in (("sparse", lambda: os.truncate(os.open("sparse", os.O_CREAT | os.O_RDWR), 1 << 40)),):
    try:
        action()
    except OSError:
        open(name, "w").write("x" * 2000000)
os.symlink("loop_b", "loop_a")
os.symlink("loop_a", "loop_b")
os.symlink("/dev/zero", "endless")
os.symlink(".", "dot")
os.mkdir("folder")
os.symlink("..", "folder/up")
print("done")
