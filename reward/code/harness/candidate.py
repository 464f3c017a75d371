# The candidate's side of tests by functions and asserts: loads the program, then answers calls.
OWN_FUNCTIONS = ("math", "cmath", "statistics", "string", "re", "heapq", "bisect", "itertools")


def kind_of(value):
    """What the test's side makes of a global name."""
    if isinstance(value, type):
        if issubclass(value, BaseException):
            return ("exception", [c.__name__ for c in value.__mro__[:-1]][:16])
        return ("class",)
    if isinstance(value, type(sys)):
        return ("module", value.__name__)
    if callable(value):
        module = getattr(value, "__module__", None)
        if module in OWN_FUNCTIONS and not isinstance(value, type):
            return ("from", module, str(getattr(value, "__name__", "")))
        code = getattr(value, "__code__", None)
        return ("async",) if code is not None and code.co_flags & 0x80 else ("callable",)
    return ("value",)


def names_of(module):
    names = {}
    for name, value in list(vars(module).items())[:2000]:
        if type(name) is str and not name.startswith("__"):
            try:
                names[name] = kind_of(value)
            except Exception:
                names[name] = ("value",)
    return names


def call(function, args, kwargs):
    """Calls and answers; arguments that the call changed go back."""
    before = marshal.dumps([args, kwargs], 2)
    try:
        special, value = packed(awaited(function(*args, **kwargs)))
    except BaseException as error:
        return ("raise",) + described(error)
    try:
        changed = before != marshal.dumps([args, kwargs], 2)
    except ValueError:
        changed = True
    try:
        after = packed([args, kwargs]) if changed else (False, None)
    except Exception:
        after = (False, None)
    return ("value", special, value) + after


def answer(module, request):
    if request[0] == "call":
        _, name, special, args, kwargs = request
        if special:
            args, kwargs = rebuilt(args, None), rebuilt(kwargs, None)
        try:
            function = entry_of(module, name)
        except BaseException as error:
            return ("raise",) + described(error)
        return call(function, list(args), kwargs)
    try:
        return ("value",) + packed(vars(module)[request[1]]) + (False, None)
    except BaseException as error:
        return ("raise",) + described(error)


def reply(message):
    try:
        send(message)
    except (ValueError, OverflowError) as error:
        send(("raise", ["ValueError", "Exception"], (), f"the result is no data: {error}"))


def serve_candidate():
    job = receive()
    code, error = compiled(job[1])
    if code is None:
        return send(("broken", error))
    try:
        hinted = job[0] == "function" and "class Solution" in job[1][0]
        module = run_module(code, "program", hints() if hinted else ())
    except BaseException as error:
        return send(("failed",) + described(error))
    if job[0] == "function":
        return reply(answer(module, ("call", job[2], False, job[3], job[4])))
    send(("loaded", names_of(module)))
    while True:
        reply(answer(module, receive()))


def candidate(leave=os._exit):
    try:
        serve_candidate()
    except EOFError:
        pass
    finally:
        leave(0)
