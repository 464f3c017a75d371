# A lock on a file that all boxes see tells another box one bit. A lock may be refused, or be said to be taken and
# not exist; then a second one is taken as well.
import fcntl
import struct


def held(path, take):
    take(os.open(path, os.O_RDONLY))
    child = os.fork()
    if child == 0:
        try:
            take(os.open(path, os.O_RDONLY))
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0


for path in (os.path.realpath("/usr/bin/python3"), os.path.realpath(os.__file__), "/usr", "/", "/dev/null", "/dev/zero"):
    for name, take in (("flock", lambda d: fcntl.flock(d, fcntl.LOCK_EX | fcntl.LOCK_NB)),
                       ("record", lambda d: fcntl.lockf(d, fcntl.LOCK_SH | fcntl.LOCK_NB)),
                       ("open file", lambda d: fcntl.fcntl(d, 37, struct.pack("hhllixxxx", 1, 0, 0, 0, 0))),
                       ("lease", lambda d: fcntl.fcntl(d, fcntl.F_SETLEASE, fcntl.F_RDLCK) and None)):
        try:
            contained(f"{name} {path}", not held(path, take), "another process saw it")
        except OSError as error:
            print(f"{name} {path}: {errno.errorcode[error.errno]}")
    attempt(f"notify {path}", lambda: fcntl.fcntl(os.open(path, os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS))
