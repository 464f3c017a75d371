# The test's side: runs the row's tests; names of the program stand for calls through the channel.
class Unsupported(BaseException):
    """What the tests do needs the program's objects themselves."""


class Lost(BaseException):
    """The candidate's process is gone."""


DATA_NAMES = frozenset(n for t in (str, bytes, list, tuple, dict, set, frozenset, int, float, complex, bool,
                                   range, type(None), type(iter([]))) for n in dir(t))


class Opaque:
    """An object of the program that is no data. It equals nothing, and has what no data has only where the
    tests and the program run together."""

    def __init__(self, name, of_class=False):
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_of_class", of_class)

    def __repr__(self):
        return f"<{object.__getattribute__(self, '_name')}>"

    def __getattribute__(self, name):
        if name.startswith("__") and name.endswith("__"):
            return object.__getattribute__(self, name)
        if object.__getattribute__(self, "_of_class") or name not in DATA_NAMES:
            raise Unsupported(f"the tests use .{name} of an object")
        raise AttributeError(f"{self!r} has no attribute {name!r}")

    def __setattr__(self, name, value):
        raise Unsupported(f"the tests set .{name} of an object")

    def __eq__(self, other):
        if isinstance(other, Opaque) and self is not other:
            raise Unsupported("the tests compare two objects")
        return self is other

    __hash__ = object.__hash__


def _needs_object(name, always):
    def method(self, *args):
        if always or object.__getattribute__(self, "_of_class"):
            raise Unsupported(f"the tests use {name} of an object")
        raise TypeError(f"{self!r} is no data")
    return method


for _name in ("call", "enter", "exit", "next", "await", "aiter"):
    setattr(Opaque, f"__{_name}__", _needs_object(_name, True))
for _name in ("len", "getitem", "setitem", "contains", "iter", "add", "sub", "mul", "truediv", "neg", "lt", "le",
              "gt", "ge", "str", "int", "float", "index", "bool", "and", "or", "xor", "radd", "rmul"):
    setattr(Opaque, f"__{_name}__", _needs_object(_name, False))
Opaque.__bool__ = lambda self: True


def exception_class(names, known):
    """A class of exceptions with these names, most derived first; made where it is not built in."""
    name = names[0] if names else "Exception"
    found = getattr(builtins, name, None)
    if isinstance(found, type) and issubclass(found, BaseException):
        return found
    if name not in known:
        base = exception_class(names[1:], known) if len(names) > 1 else Exception
        known[name] = type(name, (base,), {})
    return known[name]


def restored(old, new):
    """`old` with the content of `new`, the objects kept."""
    if type(old) is not type(new):
        return new
    if type(old) is list:
        old[:] = [restored(o, n) for o, n in zip(old, new)] + new[len(old):]
        return old
    if type(old) is dict:
        kept = {k: restored(old[k], v) if k in old else v for k, v in new.items()}
        old.clear()
        old.update(kept)
        return old
    if type(old) is set:
        old.clear()
        old.update(new)
        return old
    if type(old) is tuple and len(old) == len(new):
        return old if all([restored(o, n) is o or o == n for o, n in zip(old, new)]) else new
    return new


class Program:
    """The program that is tested, as the other side offers it."""

    def __init__(self, offered):
        self.offered = offered
        self.exceptions = {}

    def ask(self, request):
        send(request)
        reply = receive()
        if reply[0] == "lost":
            raise Lost()
        if reply[0] == "raise":
            error = exception_class(reply[1], self.exceptions)
            try:
                raised = error(*reply[2])
            except Exception:
                raised = exception_class(["Exception"], {})(reply[3])
            raised.__dict__["_of_program"] = True
            raise raised
        return reply[1:]

    def call(self, name, args, kwargs, of_class=False):
        special, data = packed([list(args), kwargs])
        if special and has_opaque(data):
            raise Unsupported("an argument is no data")
        special_value, value, special_back, back = self.ask(("call", name, special, data[0], data[1]))
        if back is not None:
            back = rebuilt(back, Opaque) if special_back else back
            restored(list(args), back[0])
            restored(kwargs, back[1])
        return rebuilt(value, lambda n: Opaque(n, of_class)) if special_value else value

    def take(self, name):
        kind = self.offered[name]
        if kind[0] == "exception":
            return exception_class(kind[1], self.exceptions)
        if kind[0] == "module":
            return self.module(kind[1])
        if kind[0] == "from":
            found = getattr(self.module(kind[1]), kind[2], None) if kind[1] in OWN_FUNCTIONS else None
            return found if isinstance(found, (type(len), type(packed))) else self.function(name)
        if kind[0] == "value":
            special, value = self.ask(("get", name))[:2]
            return rebuilt(value, Opaque) if special else value
        if kind[0] == "class":
            return self.of_class(name)
        return self.coroutine(name) if kind[0] == "async" else self.function(name)

    def module(self, name):
        """A module of this side's own; one that is not loaded here is none that tests need."""
        if name.partition(".")[0] in sys.stdlib_module_names and name in sys.modules:
            return sys.modules[name]
        return Opaque(name)

    def function(self, name):
        def function(*args, **kwargs):
            return self.call(name, args, kwargs)
        function.__name__ = function.__qualname__ = name
        return function

    def coroutine(self, name):
        async def function(*args, **kwargs):
            return self.call(name, args, kwargs)
        return function

    def of_class(self, name):
        program, classy = self, name[:1].isupper() and "_" not in name

        class Class:
            def __call__(self, *args, **kwargs):
                return program.call(name, args, kwargs, classy)

            def __getattr__(self, attribute):
                raise Unsupported(f"the tests use {name}.{attribute}")

            def __instancecheck__(self, instance):
                raise Unsupported(f"the tests use isinstance(..., {name})")

            def __mro_entries__(self, bases):
                raise Unsupported(f"the tests derive from {name}")
        return Class()


class RowTests:
    def __init__(self, job):
        self.prompt, self.entry_point = job[3], job[4]
        self.codes = compiled_tests([("setup", job[1])] + [(f"test {i}", t) for i, t in enumerate(job[2])])

    def run(self, index, offered):
        """Class and text of what became of a test."""
        program = Program(offered)
        where = "setup"
        try:
            space = {"__name__": "tests", "__builtins__": builtins}
            if self.prompt:
                space.update(prompt_names(self.prompt))
                space.pop(self.entry_point, None)
            names = global_names(self.codes[0], self.codes[1 + index])
            for name in names_to_take(names, offered, space):
                space[name] = program.take(name)
            exec(self.codes[0], space)
            where = "test"
            exec(self.codes[1 + index], space)
            if self.entry_point and callable(space.get("check")):
                space["check"](self.entry(program))
            return "passed", ""
        except Unsupported as error:
            return "unsupported", str(error)
        except Lost:
            return "lost", ""
        except AssertionError as error:
            return ("raised" if "_of_program" in vars(error) else "failed"), "AssertionError"
        except BaseException as error:
            if where == "setup" and isinstance(error, ImportError) and "_of_program" not in vars(error):
                return "broken", "setup: " + text_of(error)
            of_program = "_of_program" in vars(error) or (isinstance(error, NameError) and error.name in names)
            return ("raised", text_of(error)) if of_program else ("failed", type(error).__name__)

    def entry(self, program):
        name = self.entry_point
        return program.take(name) if name in program.offered else program.function(name)


def clean_slate(modules=(builtins, os, sys)):
    """What puts back the state that tests of one row may leave to those of the next."""
    import random
    kept = [(vars(m), dict(vars(m))) for m in modules]
    state, limit = random.getstate(), sys.getrecursionlimit()

    def clean():
        for live, before in kept:
            if live != before:
                live.clear()
                live.update(before)
        random.setstate(state)
        sys.setrecursionlimit(limit)

    return clean


def serve_tests(clean):
    job = receive()
    try:
        row = RowTests(job)
    except (SyntaxError, ValueError) as error:
        part = getattr(error, "filename", "tests")
        return send(("broken", f"{part}: {type(error).__name__}: {getattr(error, 'msg', error)}"))
    for index in range(job[0], len(job[2])):
        send(("begin", job[5], index))
        reply = receive()
        if reply[0] == "stop":
            return
        clean()
        if reply[0] == "loaded":
            send(("end", index) + row.run(index, reply[1]))


def tests(leave=os._exit):
    """Serves one row after the other."""
    try:
        sys.stdout = sys.stderr = open(os.devnull, "w")
        clean = clean_slate()
        while True:
            serve_tests(clean)
    except EOFError:
        pass
    finally:
        leave(0)
