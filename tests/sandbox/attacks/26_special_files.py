import socket
import stat

os.mkfifo("fifo")
try:
    socket.socket(socket.AF_UNIX).bind("socket")
except OSError:
    pass
os.mkdir("folder")
for name, kind, device in (("null", stat.S_IFCHR, os.makedev(1, 3)), ("mem", stat.S_IFCHR, os.makedev(1, 1)),
                           ("disk", stat.S_IFBLK, os.makedev(254, 0)), ("kmsg", stat.S_IFCHR, os.makedev(1, 11))):
    attempt(f"mknod {name}", lambda: os.mknod(name, kind | 0o666, device))
