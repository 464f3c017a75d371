# Values as plain data. What marshal does not know is written as a tuple (..., kind, content).
MAX_DEPTH = 200
MAX_ITEMS = 100000  # taken of an iterator
EXACT = (bool, int, float, complex, str, bytes)
SUBCLASSED = (int, float, complex, str, bytes, tuple, list, dict, set, frozenset)
COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
ITERATORS = tuple(type(iter(i)) for i in ([], (), {}, set(), "", b"", range(0), {}.values(), {}.items()))
ITERATORS += (map, filter, zip, enumerate, reversed, type(reversed([])), type(_ for _ in ()))


class Unreadable(Exception):
    """Nested too deeply."""


def _module_types():
    """What the standard library's types hold, by module and name."""
    return {
        ("collections", "Counter"): lambda v: dict(v),
        ("collections", "defaultdict"): lambda v: dict(v),
        ("collections", "OrderedDict"): lambda v: list(v.items()),
        ("collections", "deque"): lambda v: list(v),
        ("decimal", "Decimal"): lambda v: str(v),
        ("fractions", "Fraction"): lambda v: (v.numerator, v.denominator),
        ("datetime", "date"): lambda v: (v.year, v.month, v.day),
        ("datetime", "timedelta"): lambda v: (v.days, v.seconds, v.microseconds),
        ("datetime", "datetime"): lambda v: v.isoformat() if v.tzinfo is None else None,
        ("datetime", "time"): lambda v: v.isoformat() if v.tzinfo is None else None,
    }


def _taken(iterator):
    items = []
    for item in iterator:
        items.append(item)
        if len(items) == MAX_ITEMS:
            break
    return items


def _special(value, kind, depth):
    """What is not of a plain type itself."""
    if kind is range:
        return (..., "range", (value.start, value.stop, value.step))
    if kind is bytearray:
        return (..., "bytearray", bytes(value))
    for name in ("keys", "values", "items"):
        if kind is type(getattr({}, name)()):
            return (..., name, plain(list(value), depth + 1))
    if kind in ITERATORS or (kind.__module__ == "itertools" and hasattr(kind, "__next__")):
        return (..., "iterator", plain(_taken(value), depth + 1))
    if kind is type and getattr(builtins, value.__name__, None) is value:
        return (..., "type", value.__name__)
    key = (kind.__module__, kind.__name__)
    content = _module_types().get(key)
    if content is not None and getattr(sys.modules.get(key[0]), key[1], None) is kind:
        return (..., key[1], plain(content(value), depth + 1))
    return _subclassed(value, kind, depth)


def _subclassed(value, kind, depth):
    """The content of a subclass that does not say itself what it equals."""
    for base in SUBCLASSED:
        if issubclass(kind, base) and base is not bool:
            if all(getattr(kind, name) is getattr(base, name) for name in COMPARISONS):
                if base is dict:
                    return plain(dict(dict.items(value)), depth)
                if base in (int, float, str, bytes, complex):
                    return base.__getnewargs__(value)[0] if base is not complex else complex(value)
                return plain(base(base.__iter__(value)), depth)
    return (..., "opaque", str(kind.__name__)[:80])


def plain(value, depth=0):
    kind = type(value)
    if value is None or kind in EXACT:
        return value
    if depth > MAX_DEPTH:
        raise Unreadable("nested too deeply")
    if kind is list:
        return [plain(v, depth + 1) for v in value]
    if kind is tuple:
        items = tuple([plain(v, depth + 1) for v in value])
        return (..., "tuple", items) if items and items[0] is ... else items
    if kind is dict:
        return {plain(k, depth + 1): plain(v, depth + 1) for k, v in value.items()}
    if kind is set or kind is frozenset:
        return kind([plain(v, depth + 1) for v in value])
    if value is ...:
        return (..., "ellipsis", None)
    return _special(value, kind, depth)


def packed(value, dumps=marshal.dumps):
    """(whether specials are in it, the value as data)."""
    try:
        dumps(value, 2)
        if type(value) is not bytearray and not isinstance(value, memoryview):
            return False, value
    except ValueError:
        pass
    try:
        return True, plain(value)
    except RecursionError:
        raise Unreadable("nested too deeply") from None


def has_opaque(value):
    """Whether data of plain() holds what is no data."""
    if type(value) is tuple and len(value) == 3 and value[0] is ...:
        return value[1] == "opaque" or has_opaque(value[2])
    if type(value) in (list, tuple, set, frozenset):
        return any(has_opaque(v) for v in value)
    if type(value) is dict:
        return any(has_opaque(k) or has_opaque(v) for k, v in value.items())
    return False


def _from_module(module, name):
    import importlib
    return getattr(importlib.import_module(module), name)


def _views(name):
    return lambda v: getattr(dict(v) if name == "items" else dict.fromkeys(v), name)()


REBUILT = {
    "ellipsis": lambda v: ...,
    "tuple": tuple,
    "range": lambda v: range(*v),
    "bytearray": bytearray,
    "keys": _views("keys"),
    "values": lambda v: dict(enumerate(v)).values(),
    "items": _views("items"),
    "iterator": iter,
    "type": lambda v: getattr(builtins, v) if isinstance(getattr(builtins, v), type) else None,
    "Counter": lambda v: _from_module("collections", "Counter")(v),
    "defaultdict": lambda v: _from_module("collections", "defaultdict")(None, v),
    "OrderedDict": lambda v: _from_module("collections", "OrderedDict")(v),
    "deque": lambda v: _from_module("collections", "deque")(v),
    "Decimal": lambda v: _from_module("decimal", "Decimal")(v),
    "Fraction": lambda v: _from_module("fractions", "Fraction")(*v),
    "date": lambda v: _from_module("datetime", "date")(*v),
    "timedelta": lambda v: _from_module("datetime", "timedelta")(*v),
    "datetime": lambda v: _from_module("datetime", "datetime").fromisoformat(v),
    "time": lambda v: _from_module("datetime", "time").fromisoformat(v),
}


def rebuilt(value, opaque):
    """The reverse of plain(); `opaque` makes what stands for an object that is no data."""
    kind = type(value)
    if kind is tuple and len(value) == 3 and value[0] is ...:
        if value[1] == "opaque":
            return opaque(value[2])
        return REBUILT[value[1]](rebuilt(value[2], opaque))
    if kind in (list, tuple, set, frozenset):
        return kind([rebuilt(v, opaque) for v in value])
    if kind is dict:
        return {rebuilt(k, opaque): rebuilt(v, opaque) for k, v in value.items()}
    return value
