# "hold" takes exclusive locks of every kind on files that all boxes see and keeps them; "take" in another box must not
# notice. Between the two of one box they would be seen, if they were there at all.
import fcntl
import struct
import time

holds = input() == "hold"
kept = []
for path in (os.path.realpath("/usr/bin/python3"), os.path.realpath(os.__file__), "/usr/bin", "/usr", "/", "/dev/null",
             "/dev/zero", "/dev/urandom", "/etc/passwd"):
    exclusive = struct.pack("hhllixxxx", fcntl.F_WRLCK, 0, 0, 0, 0)
    for name, take in (("flock", lambda d: fcntl.flock(d, fcntl.LOCK_EX | fcntl.LOCK_NB)),
                       ("record", lambda d: fcntl.fcntl(d, fcntl.F_SETLK, exclusive)),
                       ("open file", lambda d: fcntl.fcntl(d, 37, exclusive)),
                       ("shared", lambda d: fcntl.lockf(d, fcntl.LOCK_SH | fcntl.LOCK_NB)),
                       ("lease", lambda d: fcntl.fcntl(d, fcntl.F_SETLEASE, fcntl.F_WRLCK))):
        try:
            kept.append(os.open(path, os.O_RDONLY))
            take(kept[-1])
            print(f"{name} {path}: contained")
        except BlockingIOError:
            contained(f"{name} {path}", holds, "another box holds it")
        except OSError as error:
            print(f"{name} {path}: {errno.errorcode[error.errno]}")
if holds:
    os.write(3, b"h")
    time.sleep(600)
