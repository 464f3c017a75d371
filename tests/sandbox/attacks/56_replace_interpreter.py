# Tries to change the interpreter that later jobs are forked from.
import builtins
import gc

builtins.print, real = (lambda *a, **k: None), builtins.print
builtins.len = lambda x: 42
sys.stdout.write("changed: contained\n")
sys.modules["json"] = None
for target in {os.getppid(), 1} - {0, os.getpid()}:
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGSTOP, signal.SIGCHLD, signal.SIGUSR1):
        try:
            os.kill(target, number)
        except OSError:
            pass
    try:
        with open(f"/proc/{target}/mem", "r+b") as f:
            f.seek(0x400000)
            f.write(b"x")
        sys.stdout.write("memory of the parent: BREACH\n")
    except OSError:
        pass
sys.stdout.flush()
for descriptor in range(3, 256):
    try:
        os.write(descriptor, b"\0" * 4096)
    except OSError:
        pass
    try:
        os.close(descriptor)
    except OSError:
        pass
