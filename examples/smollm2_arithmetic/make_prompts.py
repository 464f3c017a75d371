#!/usr/bin/env python3
"""Writes train.jsonl and held.jsonl beside this file: arithmetic in plain language, as chat messages.

  python3 make_prompts.py [--out DIR] [--train 1600] [--held 512] [--seed 1]

A row is {"id", "messages", "answer", "kind"}. The pairs of numbers of held-out rows never stand in a training row of
their kind, and no held-out question stands twice. Standard library only.
"""
import argparse
import json
import os
import random

NAMES = ["Ana", "Ben", "Chloe", "David", "Emma", "Farid", "Grace", "Hugo", "Ines", "Jonas"]
THINGS = ["apples", "books", "coins", "pencils", "stickers", "shells", "marbles", "cards"]
LEAST, GREATEST = 2, 12


def add(draw, a, b):
    return draw.choice(["What is {} + {}?", "Add {} and {}.", "Calculate {} + {}."]).format(a, b), a + b


def subtract(draw, a, b):
    a, b = max(a, b), min(a, b)
    return draw.choice(["What is {} - {}?", "Calculate {} - {}.", "What is {} minus {}?"]).format(a, b), a - b


def multiply(draw, a, b):
    return draw.choice(["What is {} * {}?", "What is {} times {}?", "Calculate {} * {}."]).format(a, b), a * b


def more(draw, a, b):
    name, thing = draw.choice(NAMES), draw.choice(THINGS)
    return f"{name} has {a} {thing} and gets {b} more. How many {thing} does {name} have now?", a + b


def fewer(draw, a, b):
    a, b, name, thing = max(a, b), min(a, b), draw.choice(NAMES), draw.choice(THINGS)
    return f"{name} has {a} {thing} and gives away {b}. How many {thing} are left?", a - b


# In turn: the word problems, which have the most different questions, come oftenest.
KINDS = [add, more, subtract, fewer, multiply, more, fewer]


def split_pairs(draw):
    """By kind: a quarter of all pairs of numbers, without their order, for the held-out rows, and the others."""
    out = {}
    for kind in dict.fromkeys(KINDS):
        pairs = [(a, b) for a in range(LEAST, GREATEST + 1) for b in range(a, GREATEST + 1)]
        draw.shuffle(pairs)
        cut = len(pairs) // 4
        out[kind] = {"held": pairs[:cut], "train": pairs[cut:]}
    return out


def rows(draw, count, pairs, part):
    out, asked = [], set()
    tries = 0
    while len(out) < count:
        kind = KINDS[tries % len(KINDS)]
        tries += 1
        a, b = draw.choice(pairs[kind][part])
        question, answer = kind(draw, *((a, b) if draw.random() < 0.5 else (b, a)))
        if part == "held" and question in asked:
            continue
        asked.add(question)
        out.append({"id": f"{part}-{len(out)}", "messages": [{"role": "user", "content": question}],
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
    if args.train < 1 or not 1 <= args.held <= 2000:
        parser.error("--train must be at least 1, --held in 1..2000 (there are not many more different questions)")
    draw = random.Random(args.seed)
    pairs = split_pairs(draw)
    os.makedirs(args.out, exist_ok=True)
    write(os.path.join(args.out, "held.jsonl"), rows(draw, args.held, pairs, "held"))
    write(os.path.join(args.out, "train.jsonl"), rows(draw, args.train, pairs, "train"))


if __name__ == "__main__":
    main()
