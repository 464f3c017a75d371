# Put before each attack in Python. attempt() says in one line of output what became of a try: "NAME: ENAME" when
# it was refused, "NAME: ALLOWED ..." when not. The tests demand that every line is a refusal.
import ctypes
import errno
import os
import signal
import sys

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def syscall(number, *arguments):
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = _libc.syscall(ctypes.c_long(number), *wide)
    if result == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def attempt(name, action):
    try:
        result = action()
    except OSError as error:
        print(f"{name}: {errno.errorcode.get(error.errno, error.errno)}", flush=True)
    except Exception as error:
        print(f"{name}: {type(error).__name__}", flush=True)
    else:
        print(f"{name}: ALLOWED {str(result)[:80]!r}", flush=True)


def contained(name, holds, why=""):
    print(f"{name}: {'contained' if holds else 'BREACH ' + str(why)[:200]}", flush=True)


def attempt_apart(name, action):
    """In a child, because a filter may kill instead of refusing."""
    child = os.fork()
    if child == 0:
        attempt(name, action)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        print(f"{name}: {signal.Signals(os.WTERMSIG(status)).name}", flush=True)


