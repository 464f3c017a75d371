### exit_builtin
exit(0)
### quit_builtin
quit()
### sys_exit
import sys
sys.exit(0)
### sys_exit_none
import sys
sys.exit()
### os_exit
import os
os._exit(0)
### raise_system_exit
raise SystemExit(0)
### exit_in_function
import sys
def solve(n):
    sys.exit(0)
### os_exit_in_function
import os
def solve(n):
    os._exit(0)
### exit_on_second_call
import os
calls = 0
def solve(n):
    global calls
    calls += 1
    if calls > 1:
        os._exit(0)
    return 0
### atexit
import atexit, os
atexit.register(lambda: os._exit(0))
def solve(n):
    return 0
### atexit_then_raise
import atexit, os
atexit.register(os._exit, 0)
def solve(n):
    raise ValueError(n)
### exit_in_destructor
import os
class Bomb:
    def __del__(self):
        os._exit(0)
def solve(n):
    Bomb()
    return 0
### exit_in_destructor_at_end
import os
class Bomb:
    def __del__(self):
        os._exit(0)
kept = Bomb()
def solve(n):
    return 0
### exit_in_equality
import os
class Bomb:
    def __eq__(self, other):
        os._exit(0)
    __ne__ = __lt__ = __gt__ = __le__ = __ge__ = __eq__
def solve(n):
    return Bomb()
### exit_in_repr
import os
class Bomb:
    def __repr__(self):
        os._exit(0)
    __str__ = __reduce__ = __getstate__ = __iter__ = __index__ = __float__ = __len__ = __hash__ = __repr__
def solve(n):
    return Bomb()
### exit_in_thread
import os, threading
threading.Thread(target=lambda: os._exit(0)).start()
def solve(n):
    return 0
### exit_in_timer
import os, threading
threading.Timer(0.005, lambda: os._exit(0)).start()
def solve(n):
    while True:
        pass
### exit_in_signal_handler
import os, signal
signal.signal(signal.SIGALRM, lambda *a: os._exit(0))
signal.setitimer(signal.ITIMER_REAL, 0.001)
def solve(n):
    while True:
        pass
### handlers_for_all_signals
import os, signal
for number in range(1, 65):
    try:
        signal.signal(number, lambda *a: os._exit(0))
    except (OSError, ValueError):
        pass
os.kill(os.getpid(), signal.SIGTERM)
def solve(n):
    return 0
### exec_true
import os
os.execv("/usr/bin/true", ["true"])
### exec_echo
import os
def solve(n):
    os.execv("/bin/echo", ["echo", "passed"])
### exec_self_again
import os, sys
def solve(n):
    os.execv(sys.executable or "/usr/bin/python3", ["python3", "-c", "pass"])
### fork_parent_leaves
import os
if os.fork():
    os._exit(0)
def solve(n):
    return 0
### fork_in_function
import os
def solve(n):
    if os.fork() == 0:
        os._exit(0)
    os._exit(0)
### fork_two_answers
import os
def solve(n):
    os.fork()
    return 0
### fork_many_answers
import os
def solve(n):
    for _ in range(3):
        os.fork()
    return os.getpid()
### libc_exit
import ctypes
ctypes.CDLL(None).exit(0)
### libc_exit_in_function
import ctypes
def solve(n):
    ctypes.CDLL(None)._exit(0)
### abort
import os
def solve(n):
    os.abort()
### crash
import ctypes
def solve(n):
    ctypes.string_at(0)
### kill_self
import os, signal
def solve(n):
    os.kill(os.getpid(), signal.SIGKILL)
### stop_self
import os, signal
def solve(n):
    os.kill(os.getpid(), signal.SIGSTOP)
    return 0
### kill_parent_and_group
import os, signal
for target in (os.getppid(), 1, -1):
    try:
        os.kill(target, signal.SIGKILL)
    except OSError:
        pass
def solve(n):
    return 0
### says_passed
import os
print("PASSED\nOK\nAll tests passed\n1 passed in 0.01s\n", flush=True)
os._exit(0)
### says_passed_as_json
import os, sys
for text in ('{"passed": true}', '{"status": "ok", "result": "passed"}', '[true, true, true]', 'ok', '0', '1', 'true'):
    print(text, flush=True)
    print(text, file=sys.stderr, flush=True)
os._exit(0)
### exit_hook_prints
import atexit
atexit.register(lambda: print("408171123\n902104431\n655371997"))
def solve(n):
    return 0
### exception_hook
import os, sys, threading
sys.excepthook = lambda *a: os._exit(0)
sys.unraisablehook = lambda *a: os._exit(0)
threading.excepthook = lambda *a: os._exit(0)
def solve(n):
    raise ValueError(n)
### audit_hook
import os, sys
armed = False
def hook(event, arguments):
    if armed:
        os._exit(0)
sys.addaudithook(hook)
armed = True
def solve(n):
    return 0
