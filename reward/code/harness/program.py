# A program with standard input and output, as __main__.
def run_program():
    code, error = compiled([receive()[1]])
    if code is None:
        send(("broken", error))
        return 1
    os.close(3)
    sys.argv = ["program.py"]
    try:
        run_module(code, "__main__")
    except SystemExit as stop:
        return exit_code(stop.code)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def exit_code(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xff
    print(code, file=sys.stderr)
    return 1


def finish(code):
    """What the interpreter does at its end."""
    import atexit
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            code = code or 1
    return code


def program(leave=os._exit):
    code = 1
    try:
        code = finish(run_program())
    finally:
        leave(code)
