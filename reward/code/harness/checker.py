# A row's own checker: a program that defines check(input, expected, actual), which has to return, or one without,
# which ends without an error where the actual output is right and with sys.exit(1) or an exception where it is not.
# The three texts are also files.
def checked():
    source, texts = receive()[1:]
    texts = [t if isinstance(t, str) else t.decode("utf-8", "replace") for t in texts]
    code, error = compiled([source])
    if code is None:
        return ("broken", error)
    sys.argv = ["checker.py", "input", "expected", "actual"]
    try:
        module = run_module(code, "__main__")
    except SystemExit as stop:
        return ("checked", stop.code in (None, 0))
    except BaseException as error:
        return ("raised", text_of(error))
    check = vars(module).get("check")
    if not callable(check):
        return ("checked", True)
    try:
        accepted = check(*texts)
    except BaseException as error:  # an exit too: what ends the checker may be the output that it reads
        return ("raised", text_of(error))
    if not isinstance(accepted, (bool, int, float, type(None))):
        return ("broken", f"check() returned {type(accepted).__name__}, not a boolean")
    return ("checked", bool(accepted))


def checker(leave=os._exit):
    try:
        send(checked())
    finally:
        leave(0)
