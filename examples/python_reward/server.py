#!/usr/bin/python3
"""A reward of one's own in Python, in place of sluice-reward or beside it (remote { service: NAME }).

    server.py --listen 127.0.0.1:0 --address-file reward.address [--coordinator 127.0.0.1:5000 --name reward-python]

It judges three kinds of components: "remote" with the parameter "rule" = "arithmetic_steps", a process reward that checks each
line of a calculation; "math" (the last number of the completion, as a fraction); and "regex". Put your own rule into judge().
"""
import fractions
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import reward_service
from reward_service import Judgement, Unsupported

VERSION = "arithmetic-1"  # stamped on every verdict: change it with the rules, for a reward that changes is another reward
STEP = re.compile(r"(-?\d+)\s*([-+*])\s*(-?\d+)\s*=\s*(-?\d+)")
OPERATIONS = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}


def arithmetic_steps(item):
    """Each line "a + b = c" is a step, worth 1 when it is true; the value is the share of true steps."""
    steps, end = [], 0
    for line in item.completion.split("\n"):
        end += len(line.encode()) + 1
        found = STEP.search(line)
        if found:
            a, operation, b, c = found.groups()
            steps.append((min(end, len(item.completion.encode())), float(OPERATIONS[operation](int(a), int(b)) == int(c))))
    if not steps:
        return Judgement.wrong("no line calculates anything", "no_steps")
    right = sum(score for _, score in steps)
    outcome = "all_steps_right" if right == len(steps) else "wrong_step"
    return Judgement.graded(right / len(steps), f"{right:.0f} of {len(steps)} steps are right", outcome, steps)


def last_number(item):
    """Whether the last number of the completion is the row's "answer"."""
    try:
        gold = fractions.Fraction(item.fields["answer"].replace(",", ""))
    except (ValueError, ZeroDivisionError):
        return Judgement.undecided("the row's \"answer\" is not a number", "invalid_row")
    numbers = re.findall(r"-?\d+(?:\.\d+)?", item.completion.replace(",", ""))
    right = bool(numbers) and fractions.Fraction(numbers[-1]) == gold
    return Judgement.right("python: right") if right else Judgement.wrong("python: wrong")


def judge(component, items, deadline):
    """One component of each completion."""
    kind = component.WhichOneof("scorer")
    if kind == "regex":
        try:
            pattern = re.compile(component.regex.pattern, re.DOTALL)
        except re.error as error:
            raise Unsupported(f"{component.name}: {error}") from error
        return [Judgement.right("found") if pattern.search(item.completion) else Judgement.wrong("not found")
                for item in items]
    if kind == "math":
        return [last_number(item) for item in items]
    rule = component.remote.parameter.get("rule", "")
    if kind == "remote" and rule == "arithmetic_steps":
        return [arithmetic_steps(item) for item in items]
    raise Unsupported(f"this service has no scorer {kind!r}" + (f" with the rule {rule!r}" if kind == "remote" else ""))


if __name__ == "__main__":
    reward_service.main(judge, name="reward-python", version=VERSION, description=__doc__.splitlines()[0])
