#!/usr/bin/python3
"""Rewards by models, beside sluice-reward: a learned reward model, and a language model as judge.

    server.py --model model.json [--judge http://127.0.0.1:8000/v1 --judge-model local]

Components: remote { service: NAME parameter { key: "kind" value: "quality" } } asks the reward model of train.py for the probability
that a completion is a good one; "kind" = "judge" asks a language model behind an OpenAI-compatible endpoint whether the answer
agrees with the row's "answer". The judge sees the question, the reference and the extracted answer, never the whole completion:
whatever the policy writes around its answer cannot talk the judge over.
"""
import argparse
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
from concurrent import futures

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import features
import reward_service
from reward_service import Judgement, Unsupported

MAX_ANSWER = 200  # characters of an extracted answer that the judge is shown
ANSWERS = (re.compile(r"\\boxed\{([^{}]*)\}"), re.compile(r"answer(?: is|:)\s*([^\n]+)", re.IGNORECASE))
PROMPT = """You compare two answers to one question. Say only "Score: 1" when they mean the same and "Score: 0" when they do not.
Question: {question}
Reference answer: {reference}
Answer to compare: {answer}
"""


def extract_answer(completion):
    """The last box, else what follows the last "answer is" or "answer:"; None without either. Reasoning is left out."""
    text = completion.rsplit("</think>", 1)[-1]
    for pattern in ANSWERS:
        found = pattern.findall(text)
        if found:
            answer = " ".join(found[-1].split()).rstrip(".")
            return answer if re.search(r"\w", answer) else None  # ":" and the like are no answers
    return None


class RewardModel:
    """Logistic regression over features.py."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            model = json.load(file)
        if len(model["weights"]) != features.SIZE:
            sys.exit(f"server.py: --model {path}: {len(model['weights'])} weights, {features.SIZE} are expected")
        self.version, self.weights = model["version"], model["weights"]

    def judge(self, items, deadline):
        out = []
        for item in items:
            if time.monotonic() > deadline:  # what is left is given back in time rather than late
                out.append(Judgement.infrastructure("not judged within the deadline"))
                continue
            value = features.probability(self.weights, item.completion)
            out.append(Judgement.graded(value, f"quality {value:.3f}", "quality"))
        return out


class LanguageModelJudge:
    """An OpenAI-compatible chat endpoint, asked for all items of a call at once by a bounded number of threads."""

    def __init__(self, url, model, concurrency):
        self.url, self.model = url.rstrip("/") + "/chat/completions", model
        self.pool = futures.ThreadPoolExecutor(concurrency)

    def ask(self, prompt, deadline):
        body = {"model": self.model, "messages": [{"role": "user", "content": prompt}], "max_tokens": 16, "temperature": 0}
        request = urllib.request.Request(self.url, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=max(0.01, deadline - time.monotonic())) as response:
            return json.load(response)["choices"][0]["message"]["content"]

    def judge_one(self, item, deadline):
        if "answer" not in item.fields:
            return Judgement.undecided("the row has no \"answer\"", "invalid_row")
        answer = extract_answer(item.completion)
        if answer is None:
            return Judgement.wrong("there is no answer to compare", "no_answer")
        if len(answer) > MAX_ANSWER:
            return Judgement.wrong(f"the answer has {len(answer)} characters", "too_long")
        if time.monotonic() > deadline:
            return Judgement.infrastructure("not judged within the deadline")
        try:
            reply = self.ask(PROMPT.format(question=item.prompt, reference=item.fields["answer"], answer=answer), deadline)
        except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
            return Judgement.infrastructure(f"the judge at {self.url}: {error}"[:200])
        score = re.fullmatch(r"\s*Score:\s*([01])\s*", reply)
        if score is None:
            return Judgement.undecided(f"the judge says {reply[:80]!r}", "unreadable_judgement")
        return Judgement.right(f"{answer!r} agrees", "agrees") if score[1] == "1" else \
            Judgement.wrong(f"{answer!r} does not agree", "disagrees")

    def judge(self, items, deadline):
        return list(self.pool.map(lambda item: self.judge_one(item, deadline), items))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="the reward model, made by train.py")
    parser.add_argument("--judge", metavar="URL", help="base of an OpenAI-compatible API (sluice serve DIR), for \"kind\" = \"judge\"")
    parser.add_argument("--judge-model", default="local", help="its model (default: %(default)s)")
    parser.add_argument("--judge-concurrency", type=int, default=8, help="requests to it at once (default: %(default)s)")
    reward_service.add_flags(parser, "reward-model")
    args = parser.parse_args()
    model = RewardModel(args.model)
    kinds = {"quality": model.judge}
    if args.judge:
        kinds["judge"] = LanguageModelJudge(args.judge, args.judge_model, args.judge_concurrency).judge

    def judge(component, items, deadline):
        kind = component.remote.parameter.get("kind", "") if component.WhichOneof("scorer") == "remote" else ""
        if kind not in kinds:
            raise Unsupported(f"{component.name}: the parameter \"kind\" must be one of {', '.join(kinds)}, is {kind!r}")
        return kinds[kind](items, deadline)

    version = model.version + (f"+{args.judge_model}" if args.judge else "")
    reward_service.serve(args, judge, version)


if __name__ == "__main__":
    main()
