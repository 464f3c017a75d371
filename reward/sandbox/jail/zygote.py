# The warm interpreter: started once per sandbox, forked once per slot and once per run. Everything before
# serve() is trusted and common to all runs; serve() returns only in a process that has become a candidate's.
import ctypes
import gc
import sys

# What programs of this kind import most, so that a run finds it loaded; each module more makes every fork dearer.
import atexit, bisect, builtins, cmath, collections, collections.abc, contextlib, copy, dataclasses, datetime, enum
import functools, heapq, io, itertools, json, math, numbers, operator, os, os.path, random, re, site, string, struct
import threading, time, traceback, types, typing, warnings, weakref


def prepare():
    """What a run finds: the built-in names that site would add, its streams, and an empty __main__. Made here, before
    any fork, it is paid for once; of the standard descriptors only what lies behind them changes."""
    site.setquit()
    site.setcopyright()
    site.sethelper()
    sys.stdin = sys.__stdin__ = open(0, "r", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False,
                                       buffering=1)
    sys.argv = ["main.py"]
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    return main


def load_modules(descriptor):
    """Trusted modules of the service: name NUL source NUL, and so on."""
    with open(descriptor, "rb") as file:
        texts = file.read().decode().split("\0")
    for name, source in zip(texts[::2], texts[1::2]):
        module = types.ModuleType(name)
        module.__file__ = name + ".py"
        sys.modules[name] = module
        exec(compile(source, module.__file__, "exec", dont_inherit=True), module.__dict__)


def serve(library_path):
    library = ctypes.PyDLL(library_path)
    library.sluice_jail_source.restype = ctypes.c_void_p
    library.sluice_jail_source_bytes.restype = ctypes.c_ulong
    after_fork = ctypes.pythonapi.PyOS_AfterFork_Child
    after_fork.restype = None
    gc.collect()
    gc.freeze()  # pages of long-lived objects stay shared between runs
    library.sluice_jail_serve()
    after_fork()
    size = library.sluice_jail_source_bytes()
    return ctypes.string_at(library.sluice_jail_source(), size) if size else b""


def run(main, source):
    """Runs `source` as __main__ and ends the process as the interpreter would."""
    code = 1
    folder = os.getcwd()  # /work, but where nothing can be mounted
    sys.path.insert(0, folder)
    main.__file__ = os.path.join(folder, "main.py")
    try:
        exec(compile(source, "main.py", "exec", dont_inherit=True), main.__dict__)
        code = 0
    except SystemExit as end:
        code = exit_code(end.code)
    except BaseException as error:
        trace = error.__traceback__.tb_next  # without the frame of this function
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    end_process(main, code)


def exit_code(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def end_process(main, code):
    # What finalising the interpreter does that a program can see, without tearing down every module.
    try:
        threading._shutdown()
        atexit._run_exitfuncs()
        main.__dict__.clear()
        gc.collect()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except BaseException:
        code = code or 120
    os._exit(code)


load_modules(5)
library_path = sys.argv[1]
main_module = prepare()
run(main_module, serve(library_path))
