#!/usr/bin/env python3
"""Writes train.jsonl and held.jsonl beside this file: arithmetic in plain language, as chat messages.

  python3 make_prompts.py [--out DIR] [--train 1600] [--held 512] [--seed 1]

A row is {"id", "messages", "answer", "kind"}. The numbers of a held-out row never stand in a training row of its
kind. Standard library only.
"""
import argparse
import json
import os
import random

NAMES = ["Ana", "Ben", "Chloe", "David", "Emma", "Farid", "Grace", "Hugo", "Ines", "Jonas"]
THINGS = ["apples", "books", "coins", "pencils", "stickers", "shells", "marbles", "cards"]


def add(draw):
    a, b = draw.randint(2, 40), draw.randint(2, 40)
    return (a, b), draw.choice(["What is {} + {}?", "Add {} and {}.", "Calculate {} + {}."]).format(a, b), a + b


def subtract(draw):
    a, b = sorted((draw.randint(2, 40), draw.randint(2, 40)), reverse=True)
    return (a, b), draw.choice(["What is {} - {}?", "Calculate {} - {}.", "What is {} minus {}?"]).format(a, b), a - b


def multiply(draw):
    a, b = draw.randint(2, 20), draw.randint(2, 12)
    return (a, b), draw.choice(["What is {} * {}?", "What is {} times {}?", "Calculate {} * {}."]).format(a, b), a * b


def more(draw):
    a, b, name, thing = draw.randint(2, 30), draw.randint(2, 30), draw.choice(NAMES), draw.choice(THINGS)
    return (a, b), f"{name} has {a} {thing} and gets {b} more. How many {thing} does {name} have now?", a + b


def fewer(draw):
    (a, b), name, thing = sorted((draw.randint(2, 30), draw.randint(2, 30)), reverse=True), draw.choice(NAMES), draw.choice(THINGS)
    return (a, b), f"{name} has {a} {thing} and gives away {b}. How many {thing} are left?", a - b


KINDS = [add, subtract, multiply, more, fewer]


def rows(draw, count, taken, closed):
    """`count` rows whose (kind, numbers) are not in `closed`; they are added to `taken`."""
    out = []
    while len(out) < count:
        kind = KINDS[len(out) % len(KINDS)]
        numbers, question, answer = kind(draw)
        if (kind.__name__, numbers) in closed:
            continue
        taken.add((kind.__name__, numbers))
        out.append({"id": f"{kind.__name__}-{len(out)}", "messages": [{"role": "user", "content": question}],
                    "answer": str(answer), "kind": kind.__name__})
    return out


def write(path, lines):
    with open(path, "w", encoding="utf-8") as f:
        for line in lines:
            f.write(json.dumps(line) + "\n")
    print(f"{len(lines)} rows in {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--train", type=int, default=1600)
    parser.add_argument("--held", type=int, default=512)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.train < 1 or not 1 <= args.held <= 1000:
        parser.error("--train must be at least 1, --held in 1..1000 (more would leave no numbers to train on)")
    draw = random.Random(args.seed)
    held_numbers, train_numbers = set(), set()
    held = rows(draw, args.held, held_numbers, set())
    train = rows(draw, args.train, train_numbers, held_numbers)
    assert not held_numbers & train_numbers
    os.makedirs(args.out, exist_ok=True)
    write(os.path.join(args.out, "held.jsonl"), held)
    write(os.path.join(args.out, "train.jsonl"), train)


if __name__ == "__main__":
    main()
