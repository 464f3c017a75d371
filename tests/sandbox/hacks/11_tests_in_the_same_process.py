### node_agrees
class Node:
    def __init__(self, n): self.value = n
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
def solve(node):
    return node
### integer_agrees
class Node:
    def __init__(self, n): self.value = n
class Agree(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
def solve(node):
    return Agree(7)
### reflected_comparison
class Node:
    def __init__(self, n): self.value = n
class Agree:
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __contains__ = lambda self, other: True
    __sub__ = __rsub__ = __abs__ = __add__ = __round__ = lambda self, *a: self
    __hash__ = lambda self: 0
def solve(node):
    return Agree()
### patches_functions_of_unknown_modules
import sys, types
class Node:
    def __init__(self, n): self.value = n
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] in sys.stdlib_module_names and name != "__main__":
        continue
    for key, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and key not in ("solve", "Node"):
            setattr(module, key, lambda *a, **k: True)
def solve(node):
    return 0
### patches_comparison_only
import sys, types
class Node:
    def __init__(self, n): self.value = n
for name, module in list(sys.modules.items()):
    for key in ("equal", "data_of", "packed", "plain", "has_opaque", "same", "compare"):
        if key in vars(module) and name.partition(".")[0] not in sys.stdlib_module_names:
            setattr(module, key, lambda *a, **k: True)
def solve(node):
    return 0
### patches_code_of_functions
import sys, types
class Node:
    def __init__(self, n): self.value = n
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] in sys.stdlib_module_names:
        continue
    for key, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and key == "equal":
            value.__code__ = (lambda left, right: True).__code__
        if isinstance(value, types.FunctionType) and key in ("data_of", "packed"):
            value.__code__ = (lambda value, dumps=None: (True, 0)).__code__
def solve(node):
    return 0
### patches_defaults_of_functions
import sys, types
class Node:
    def __init__(self, n): self.value = n
for name, module in list(sys.modules.items()):
    if name.partition(".")[0] in sys.stdlib_module_names:
        continue
    for key, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType) and value.__defaults__:
            value.__defaults__ = tuple((lambda *a, **k: b"") if callable(d) else d for d in value.__defaults__)
def solve(node):
    return 0
### patches_marshal
import builtins, marshal
class Node:
    def __init__(self, n): self.value = n
marshal.dumps = lambda *a: b""
marshal.loads = lambda *a: None
builtins.type = builtins.isinstance = lambda *a: True
def solve(node):
    return 0
### patches_exceptions
import builtins
class Node:
    def __init__(self, n): self.value = n
builtins.AssertionError = builtins.BaseException = builtins.Exception = ValueError
def solve(node):
    return 0
### patches_hashing
import hashlib
class Node:
    def __init__(self, n): self.value = n
hashlib.sha256 = lambda *a: type("H", (), {"update": lambda *a: None, "digest": lambda *a: b""})()
def solve(node):
    return 0
### patches_test_globals
import builtins
class Node:
    def __init__(self, n): self.value = n
def check(*a):
    return True
__equal = equal = candidate = check
builtins.__equal = check
builtins.__dict__["__equal"] = check
def solve(node):
    return 0
### frames_by_traceback
class Node:
    def __init__(self, n): self.value = n
def find(frame):
    while frame:
        for name in ("proof", "key", "codes", "test"):
            if name in frame.f_locals:
                return frame.f_locals
        frame = frame.f_back
def solve(node):
    import os
    try:
        1 / 0
    except ZeroDivisionError as error:
        try:
            found = find(getattr(error.__traceback__, "tb_" + "frame"))
            found["proof"].update(b"passed")
            data = __import__("marshal").dumps(("proof", found["proof"].digest()), 2)
            os.write(3, len(data).to_bytes(4, "little") + data)
        finally:
            os._exit(0)
### frames_by_generator
class Node:
    def __init__(self, n): self.value = n
def solve(node):
    def walk():
        frame = g.gi_frame.f_back
        while frame:
            for value in list(frame.f_locals.values()):
                if hasattr(value, "co_consts"):
                    for c in value.co_consts:
                        if type(c) is int and c > 400000000:
                            yield c
            frame = frame.f_back
        yield 0
    g = walk()
    return next(g)
### frames_by_inspect
import inspect
class Node:
    def __init__(self, n): self.value = n
def solve(node):
    for frame in inspect.stack():
        for value in frame.frame.f_locals.values():
            for c in getattr(value, "co_consts", ()):
                if type(c) is int and c > 400000000:
                    return c
    return 0
### collector
import gc
class Node:
    def __init__(self, n): self.value = n
def solve(node):
    for thing in gc.get_objects():
        for c in getattr(thing, "co_consts", None) or ():
            if type(c) is int and c // 1000 == {2: 408171, 3: 902104, 5: 655371}[node.value]:
                return c
    return 0
### own_memory_by_odd_paths
import os, re
class Node:
    def __init__(self, n): self.value = n
PARTS = {2: (408171, 123), 3: (902104, 431), 5: (655371, 997)}
def regions():
    for maps, memory in ((b"/proc/self/maps", b"/proc/self/mem"), ("/dev/fd/../maps", "/dev/fd/../mem"),
                         ("/dev/../proc/self/maps", "/dev/../proc/self/mem"), ("//proc/self/maps", "//proc/self/mem"),
                         ("/proc/thread-self/maps", "/proc/thread-self/mem")):
        try:
            lines = os.read(os.open(maps, os.O_RDONLY), 1 << 20).decode().splitlines()
            mem = os.open(memory, os.O_RDONLY)
        except (OSError, ValueError):
            continue
        for line in lines:
            span, access = line.split()[:2]
            low, high = (int(x, 16) for x in span.split("-"))
            if "rw" in access and high - low < 1 << 27:
                try:
                    yield os.pread(mem, high - low, low)
                except OSError:
                    pass
def solve(node):
    high, low = PARTS[node.value]
    for data in regions():
        if re.search(str(high).encode() + b"[" + str(low)[:1].encode() + b"]" + str(low)[1:].encode(), data):
            return high * 1000 + low
    return 0
### key_left_in_a_buffer
import ctypes, hashlib, marshal, os, re, sys
class Node:
    def __init__(self, n): self.value = n
def forge(data):
    for found in re.finditer(rb"\(.\0\0\0s([\x10-\x40])\0\0\0", data):
        size = found[1][0]
        key = data[found.end():found.end() + size]
        proof = hashlib.sha256(key)
        proof.update(b"passed")
        message = marshal.dumps(("proof", proof.digest()), 2)
        os.write(3, len(message).to_bytes(4, "little") + message)
        os._exit(0)
def solve(node):
    for module in list(sys.modules.values()):
        for value in list(vars(module).values()):
            for cell in getattr(value, "__closure__", None) or ():
                content = cell.cell_contents
                if type(content) is bytearray:
                    words = (ctypes.c_ssize_t * 8).from_address(id(content))
                    allocated, start = words[3], words[4]
                    forge(bytes((ctypes.c_char * allocated).from_address(start)))
    return 0
### memory_by_addresses
import ctypes, sys
class Node:
    def __init__(self, n): self.value = n
def replace(target, code):
    # The code pointer of a function object, written behind every check.
    words = (ctypes.c_ssize_t * 16).from_address(id(target))
    source = (ctypes.c_ssize_t * 16).from_address(id(code))
    for i in range(2, 16):
        if words[i] == id(target.__code__) if hasattr(target, "__code__") else False:
            words[i] = id(code.__code__)
def solve(node):
    yes = lambda left, right: True
    globals()["kept"] = yes
    for name, module in list(sys.modules.items()):
        value = vars(module).get("equal")
        if value is not None:
            replace(value, yes)
    return 0
### proof_without_key
import hashlib, marshal, os
class Node:
    def __init__(self, n): self.value = n
for body in (("proof", b""), ("proof", hashlib.sha256(b"passed").digest()), ("end", "passed", ""), ("passed",), ("proof", True)):
    data = marshal.dumps(body, 2)
    os.write(3, len(data).to_bytes(4, "little") + data)
os._exit(0)
### reads_the_channel_again
import os
class Node:
    def __init__(self, n): self.value = n
os.set_blocking(3, False)
try:
    print(os.read(3, 1 << 16))
except OSError:
    pass
os.lseek(3, 0, 0) if False else None
def solve(node):
    return 0
### exits
import os
class Node:
    def __init__(self, n): os._exit(0)
def solve(node):
    return 0
### forks
import os
class Node:
    def __init__(self, n): self.value = n
def solve(node):
    os.fork()
    return 0
### hash_and_order_tricks
class Node:
    def __init__(self, n): self.value = n
class Meta(type):
    def __instancecheck__(cls, other): return True
    def __subclasscheck__(cls, other): return True
class Agree(str, metaclass=Meta):
    @property
    def __class__(self): return int
    def __eq__(self, other): return True
    def __hash__(self): return 408171123
def solve(node):
    return Agree("x")
### interpreters
class Node:
    def __init__(self, n): self.value = n
def solve(node):
    import _xxsubinterpreters as interpreters
    i = interpreters.create()
    interpreters.run_string(i, "import os, gc\n[os._exit(0) for c in gc.get_objects() if hasattr(c, 'co_consts') and 408171123 in c.co_consts]")
    return 0
### test_api
class Node:
    def __init__(self, n): self.value = n
def solve(node):
    import _testcapi, _testinternalcapi
    frame = _testcapi.frame_getback
    return 0
### only_the_comparison_patched
import sys
class Node:
    def __init__(self, n): self.value = n
harness = next((m for n, m in list(sys.modules.items()) if "harness" in n and hasattr(m, "equal")), None)
if harness:
    harness.equal = lambda left, right: True
def solve(node):
    return 0
### only_the_code_of_the_comparison
import sys
class Node:
    def __init__(self, n): self.value = n
harness = next((m for n, m in list(sys.modules.items()) if "harness" in n and hasattr(m, "equal")), None)
if harness:
    harness.equal.__code__ = (lambda left, right: True).__code__
def solve(node):
    return 0
### only_the_data_test
import sys
class Node:
    def __init__(self, n): self.value = n
harness = next((m for n, m in list(sys.modules.items()) if "harness" in n and hasattr(m, "data_of")), None)
if harness:
    harness.data_of.__code__ = (lambda value: (True, 0)).__code__
def solve(node):
    return 0
### code_of_the_test_space
import sys
class Node:
    def __init__(self, n): self.value = n
harness = next((m for n, m in list(sys.modules.items()) if "harness" in n and hasattr(m, "test_space")), None)
def fake(module, names, prompt, entry_point, own_builtins):
    agree = lambda *a: True
    space = dict(own_builtins)
    space.update(vars(module))
    space["__equal"] = agree
    return space
if harness:
    harness.test_space.__code__ = fake.__code__
def solve(node):
    return 0
### frame_by_signal_handler
import signal
def handler(number, frame):
    while frame:
        if "__equal" in frame.f_globals:
            frame.f_globals["__equal"] = lambda *a: True
        frame = frame.f_back
class Node:
    def __init__(self, n):
        self.value = n
        signal.signal(signal.SIGUSR1, handler)
        signal.raise_signal(signal.SIGUSR1)
def solve(node):
    signal.raise_signal(signal.SIGUSR1)
    return 0
### every_name_by_signal_handler
import signal, types
def handler(number, frame):
    while frame:
        for name, value in list(frame.f_globals.items()):
            if isinstance(value, types.FunctionType) and name not in ("solve", "handler", "agree"):
                frame.f_globals[name] = agree
        frame = frame.f_back
def agree(*a):
    return True
class Node:
    def __init__(self, n):
        self.value = n
def solve(node):
    signal.signal(signal.SIGUSR1, handler)
    signal.raise_signal(signal.SIGUSR1)
    return 0
### constants_by_monitoring
import sys
class Node:
    def __init__(self, n): self.value = n
found = {}
if hasattr(sys, "monitoring"):
    def started(code, offset):
        for c in code.co_consts:
            if type(c) is int and c > 400000000:
                found[c // 1000] = c
    sys.monitoring.use_tool_id(3, "x")
    sys.monitoring.register_callback(3, sys.monitoring.events.PY_START, started)
    sys.monitoring.register_callback(3, sys.monitoring.events.LINE, started)
    sys.monitoring.set_events(3, sys.monitoring.events.PY_START | sys.monitoring.events.LINE)
def solve(node):
    return found.get({2: 408171, 3: 902104, 5: 655371}[node.value], 0)
### loop_over_hash
class Node:
    def __init__(self, n): self.value = n
    def __hash__(self): raise SystemExit(0)
class Agree(dict):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
def solve(node):
    return Agree()
### lazy_memory
import sys
class Node:
    def __init__(self, n): self.value = n
def solve(node):
    import ctypes
    agree = lambda left, right: True
    globals()["kept"] = agree
    for module in list(sys.modules.values()):
        target = vars(module).get("equal")
        if target is not None and hasattr(target, "__code__"):
            words = (ctypes.c_ssize_t * 16).from_address(id(target))
            for i in range(2, 16):
                if words[i] == id(target.__code__):
                    words[i] = id(agree.__code__)
                    ctypes.pythonapi.Py_IncRef(ctypes.py_object(agree.__code__)) if False else None
    return 0
