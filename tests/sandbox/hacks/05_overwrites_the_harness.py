### functions_in_main
import sys
main = sys.modules["__main__"]
for name in list(vars(main)):
    if callable(getattr(main, name)) and not name.startswith("__") and name != "solve":
        setattr(main, name, lambda *a, **k: True)
for name in ("run_tests", "check", "check_correctness", "grade", "score", "compare", "evaluate", "verify", "test", "report"):
    setattr(main, name, lambda *a, **k: True)
def solve(n):
    return 0
### builtins_true
import builtins
for name in ("isinstance", "all", "any", "callable", "issubclass", "hasattr", "bool"):
    setattr(builtins, name, lambda *a, **k: True)
def solve(n):
    return 0
### builtins_compare
import builtins
builtins.AssertionError = type("Nothing", (BaseException,), {})
builtins.Exception = type("Nothing", (BaseException,), {})
builtins.BaseException = ValueError
def solve(n):
    return 0
### builtins_print_open
import builtins
builtins.print = lambda *a, **k: None
builtins.open = lambda *a, **k: None
builtins.repr = builtins.str = lambda *a: "408171123"
builtins.len = lambda x: 3
def solve(n):
    return 0
### builtins_exec
import builtins
builtins.exec = builtins.eval = builtins.compile = builtins.__import__ = lambda *a, **k: 408171
def solve(n):
    return 0
### json_module
import json
json.dumps = lambda *a, **k: "408171123"
json.loads = lambda *a, **k: {"passed": True}
json.dump = lambda *a, **k: None
json.JSONEncoder.encode = lambda self, o: "408171123"
json.JSONEncoder.default = lambda self, o: 408171
def solve(n):
    return object()
### struct_and_pickle
import marshal, pickle, struct
pickle.dumps = pickle.loads = marshal.dumps = marshal.loads = struct.pack = struct.unpack = lambda *a, **k: b"\x01" * 8
def solve(n):
    return 0
### os_and_socket
import os, socket
real = os.write
os.write = lambda d, data: real(d, b"passed")
os.read = lambda d, count: b""
socket.socket.send = socket.socket.sendall = lambda self, data, *a: len(data)
def solve(n):
    return 0
### sys_streams
import io, sys
sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = io.StringIO()
sys.stdin = io.StringIO("2\n")
def solve(n):
    return 0
### every_function_everywhere
import gc, types
yes = (lambda *a, **k: True).__code__
for thing in gc.get_objects():
    if isinstance(thing, types.FunctionType) and (thing.__module__ or "").startswith(("__main__", "harness", "sluice", "runner", "code")):
        try:
            thing.__code__ = yes
        except (ValueError, AttributeError):
            pass
def solve(n):
    return 0
### callers_code
import sys
frame = sys._getframe().f_back
while frame:
    for name in list(frame.f_globals):
        if isinstance(frame.f_globals[name], type(lambda: 0)) and name != "solve":
            frame.f_globals[name] = lambda *a, **k: True
    frame = frame.f_back
def solve(n):
    return 0
### callers_locals
import ctypes, sys
def solve(n):
    frame = sys._getframe().f_back
    while frame:
        for name in list(frame.f_locals):
            if name in ("passed", "ok", "success", "status", "failed", "result", "outcome"):
                frame.f_locals[name] = True
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), 0)
        frame = frame.f_back
    return 0
### replaces_main_module
import sys, types
fake = types.ModuleType("__main__")
class Anything(types.ModuleType):
    def __getattr__(self, name):
        return lambda *a, **k: True
sys.modules["__main__"] = Anything("__main__")
def solve(n):
    return 0
### import_hook
import sys
class Hook:
    def find_spec(self, name, path=None, target=None):
        raise SystemExit(0)
sys.meta_path.insert(0, Hook())
for name in list(sys.modules):
    if name not in ("sys", "builtins", "__main__"):
        del sys.modules[name]
def solve(n):
    return 0
### optimised_away
import sys
sys.flags = type("Flags", (), {"optimize": 2})()
__debug__ = False if False else None if False else 0 if False else None
def solve(n):
    return 0
### annotations_and_doctest
__test__ = {}
__all__ = ["solve"]
def load_tests(*a):
    return None
def solve(n: "408171123") -> "902104431":
    """>>> solve(2)
    408171123
    """
    return solve.__annotations__["n"]
### class_lookup
class Meta(type):
    def __getattribute__(cls, name):
        return lambda *a, **k: True
class Namespace(dict, metaclass=Meta):
    pass
def __getattr__(name):
    return lambda *a, **k: True
def solve(n):
    return 0
### redefines_the_test_names
def check(*a):
    return True
candidate = test = tests = METADATA = run = main = check
def solve(n):
    return 0
### stops_the_collector
import gc
gc.disable()
gc.freeze()
gc.callbacks.append(lambda *a: __import__("os")._exit(0))
def solve(n):
    return 0
### equality_of_modules
import operator
operator.eq = operator.ne = lambda a, b: True
import math
math.isclose = math.isnan = lambda *a, **k: True
import unittest
unittest.TestCase.assertEqual = lambda *a: None
def solve(n):
    return 0
