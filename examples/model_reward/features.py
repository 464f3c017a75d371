"""What the reward model sees of a completion: hashed words and pairs of words, and a few measures of its form."""
import hashlib
import math
import re

SIZE = 1 << 12  # of the weight vector; the last places are the measures
CONSTANT = SIZE - 1  # the place of the feature that is 1 for every completion


def bucket(text):
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little") % (SIZE - 8)


def features(completion):
    """{place: value}; the same completion always has the same features."""
    words = re.findall(r"[a-z']+|\d+|[^\sa-z\d]", completion.lower())[:2000]
    out = {}
    for gram in words + [f"{a} {b}" for a, b in zip(words, words[1:])]:
        out[bucket(gram)] = 1.0
    lines = [line for line in completion.split("\n") if line.strip()]
    measures = (1.0, math.log1p(len(words)), math.log1p(len(lines)), len(set(words)) / max(1, len(words)))
    for i, value in enumerate(measures):
        out[SIZE - 1 - i] = value
    return out


def probability(weights, completion):
    """That the completion is a good one, by logistic regression."""
    total = sum(weights[place] * value for place, value in features(completion).items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))
