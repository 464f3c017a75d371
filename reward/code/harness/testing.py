# What the test's side and the side where all runs together share: names that the tests take from the program.
def global_names(*codes):
    """Names that code loads, in the order of their first use."""
    names = {}
    todo = list(codes)
    while todo:
        code = todo.pop(0)
        names.update(dict.fromkeys(code.co_names))
        todo.extend(c for c in code.co_consts if isinstance(c, type(code)))
    return names


def names_to_take(names, offered, have):
    """Built-in names stay built in, unless the tests name nothing else of the program: then the last one."""
    taken = [n for n in names if n in offered and n not in have and not hasattr(builtins, n)]
    if not any(offered[n][0] in ("callable", "class", "async") for n in taken):
        shadows = [n for n in names if n in offered and hasattr(builtins, n) and offered[n][0] == "callable"]
        taken += shadows[-1:]
    return taken


def compiled_tests(parts):
    """Code of the setup and of each test; a SyntaxError says which part."""
    return [compile(source, where, "exec", dont_inherit=True) for where, source in parts]


def prompt_names(prompt):
    """What the prompt of a body defines; it is the row's, not the candidate's."""
    space = {"__name__": "prompt", "__builtins__": builtins}
    try:
        exec(compile(prompt + "\n    pass\n", "<prompt>", "exec", dont_inherit=True), space)
    except Exception:
        try:
            exec(compile(prompt, "<prompt>", "exec", dont_inherit=True), space)
        except Exception:
            return {}
    return {k: v for k, v in space.items() if not k.startswith("__")}


def text_of(error):
    try:
        return f"{type(error).__name__}: {error}"[:200]
    except BaseException:
        return type(error).__name__
