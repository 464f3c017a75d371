#!/usr/bin/python3
"""Trains the reward model of server.py on pairs of a better and a worse completion (Bradley and Terry's model, by stochastic
gradients): no packages, no download, some seconds.

    train.py --output model.json [--pairs pairs.jsonl]

Rows of --pairs: {"chosen": "...", "rejected": "..."}. Without it the pairs are made up: worked answers against bare, rambling or
evasive ones. Every fifth pair is held out, and the share of them that the model orders rightly is printed.
"""
import argparse
import hashlib
import json
import math
import random

import features


def made_up_pairs(count, generator):
    """Arithmetic, worked out and not."""
    for _ in range(count):
        a, b = generator.randint(2, 99), generator.randint(2, 99)
        good = generator.choice([
            f"First, {a} + {b} means adding {b} to {a}.\nSo {a} + {b} = {a + b}.\nThe answer is {a + b}.",
            f"We add the numbers: {a} + {b} = {a + b}.\nTherefore the answer is {a + b}.",
            f"Adding {b} to {a} gives {a + b}.\nHence the answer is {a + b}."])
        bad = generator.choice([
            f"{a + b}", f"{a + b}!!! trust me", f"maybe {a + b}, maybe {a + b + 1}, who knows",
            "I cannot say. " * generator.randint(1, 9), f"the answer the answer the answer the answer {a + b}",
            "Great question! It is so interesting, and so many people ask it, and I love it."])
        yield {"chosen": good, "rejected": bad}


def train(pairs, generator, epochs=3, rate=0.2, decay=1e-4):
    weights = [0.0] * features.SIZE
    vectors = [(features.features(p["chosen"]), features.features(p["rejected"])) for p in pairs]
    for _ in range(epochs):
        generator.shuffle(vectors)
        for chosen, rejected in vectors:
            margin = sum(weights[i] * v for i, v in chosen.items()) - sum(weights[i] * v for i, v in rejected.items())
            step = rate / (1 + math.exp(max(-30.0, min(30.0, margin))))
            for sign, vector in ((1, chosen), (-1, rejected)):
                for i, v in vector.items():
                    weights[i] += sign * step * v - decay * weights[i]
    # Pairs say nothing of the level: half way between the better and the worse ones is put at a probability of a half.
    totals = [sum(weights[i] * v for i, v in vector.items()) for pair in vectors for vector in pair]
    weights[features.CONSTANT] -= sum(totals) / len(totals)
    return [round(w, 6) for w in weights]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", required=True, help="the model, as JSON")
    parser.add_argument("--pairs", help="JSON Lines of {\"chosen\", \"rejected\"} (default: made up)")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    generator = random.Random(args.seed)
    if args.pairs:
        with open(args.pairs, encoding="utf-8") as rows:
            pairs = [json.loads(row) for row in rows if row.strip()]
    else:
        pairs = list(made_up_pairs(500, generator))
    held, used = pairs[::5], [p for i, p in enumerate(pairs) if i % 5]
    weights = train(used, generator)
    right = sum(features.probability(weights, p["chosen"]) > features.probability(weights, p["rejected"]) for p in held)
    version = hashlib.sha256(json.dumps(weights).encode()).hexdigest()[:12]
    with open(args.output, "w", encoding="utf-8") as out:
        json.dump({"version": version, "weights": weights}, out)
    print(f"{len(used)} pairs; {right} of {len(held)} held-out pairs in the right order; version {version}")


if __name__ == "__main__":
    main()
