# A row's own checker: a program that defines check(input, expected, actual), or ends without an error where the
# actual output is right and with sys.exit(1) or an exception where it is not. The three texts are also files.
def checked():
    source, texts = receive()[1:]
    texts = [t if isinstance(t, str) else t.decode("utf-8", "replace") for t in texts]
    code, error = compiled([source])
    if code is None:
        return ("broken", error)
    sys.argv = ["checker.py", "input", "expected", "actual"]
    try:
        module = run_module(code, "__main__")
        check = vars(module).get("check")
        accepted = check(*texts) if callable(check) else True
    except SystemExit as stop:
        accepted = stop.code in (None, 0)
    except BaseException as error:
        return ("raised", text_of(error))
    if not isinstance(accepted, (bool, int, float, type(None))):
        return ("broken", f"check() returned {type(accepted).__name__}, not a boolean")
    return ("checked", bool(accepted))


def checker(leave=os._exit):
    try:
        send(checked())
    finally:
        leave(0)
