#!/usr/bin/env python3
"""`sluice score` and `sluice generate` against the oracle: cli_parity.py BIN_DIR ORACLE_DIR

For each checkpoint, by the rollout path and by the learner path, equal to each other bit for bit: log-probabilities in
float32 within 2e-4 (mean 2e-5) of the float64 reference, in bfloat16 within a mean of 0.1 (0.4 where experts are chosen:
rounding flips near ties). Greedy continuations identical, their log-probabilities as above. Where there is a folder
smollm2 (smollm2.sh makes it), the real model's recorded answers too. Exit 77: nothing to test.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

MAX_ERROR, MEAN_ERROR = 2e-4, 2e-5
BF16_MEAN_DENSE, BF16_MEAN_EXPERTS = 0.1, 0.4
SEQUENCES = ["s7", "s33", "s129", "long"]


def run(binary, *args):
    done = subprocess.run([binary, *args], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise SystemExit(f"{binary} {' '.join(args)} exited with {done.returncode}:\n{done.stdout}{done.stderr}")


def rows(path):
    return [json.loads(line) for line in open(path, encoding="utf-8")]


def write(path, items):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(json.dumps(item) + "\n" for item in items)


def score(sluice, model, folder, dtype, path, sequences):
    """Log-probabilities by sequence; sequences: id -> tokens."""
    source, out = os.path.join(folder, "in.jsonl"), os.path.join(folder, "out.jsonl")
    write(source, [{"id": i, "tokens": tokens} for i, tokens in sequences.items()])
    run(sluice, "score", "--model", model, "--input", source, "--output", out, "--dtype", dtype, "--path", path)
    return {row["id"]: row["logprobs"] for row in rows(out)}


def greedy(sluice, model, folder, prompts, length):
    source, out = os.path.join(folder, "in.jsonl"), os.path.join(folder, "out.jsonl")
    write(source, [{"id": str(i), "tokens": p, "temperature": 0, "max_tokens": length, "ignore_eos": True}
                   for i, p in enumerate(prompts)])
    run(sluice, "generate", "--model", model, "--input", source, "--output", out, "--dtype", "fp32")
    return {int(row["id"]): row for row in rows(out)}


def differences(name, ours, theirs, max_error, mean_error):
    errors = [abs(a - b) for a, b in zip(ours, theirs, strict=True)]
    worst, mean = max(errors), sum(errors) / len(errors)
    good = worst <= max_error and mean <= mean_error  # false for what is not a number
    return [] if good else [f"{name}: max {worst:.2e}, mean {mean:.2e}"]


def check_scores(sluice, model, folder, reference):
    tokens = {s: reference.get_tensor(f"tokens.{s}").tolist() for s in SEQUENCES}
    wanted = {s: reference.get_tensor(f"logprobs.{s}").tolist() for s in SEQUENCES}
    bf16_mean = BF16_MEAN_EXPERTS if "moe_layers" in reference.keys() else BF16_MEAN_DENSE
    problems = []
    for dtype in ("fp32", "bf16"):
        by_path = {path: score(sluice, model, folder, dtype, path, tokens) for path in ("rollout", "learner")}
        if by_path["rollout"] != by_path["learner"]:
            problems.append(f"{dtype}: rollout and learner log-probabilities differ")
        if dtype == "fp32":
            for s in SEQUENCES:
                problems += differences(f"fp32 {s}", by_path["rollout"][s], wanted[s], MAX_ERROR, MEAN_ERROR)
        else:
            flat = [sum((scores[s] for s in SEQUENCES), []) for scores in (by_path["rollout"], wanted)]
            problems += differences("bf16", *flat, float("inf"), bf16_mean)
    return problems


def check(sluice, model, folder):
    from safetensors import safe_open
    reference = safe_open(os.path.join(model, "reference.safetensors"), "np")
    problems = check_scores(sluice, model, folder, reference)
    prompts = [reference.get_tensor(f"greedy.{i}.prompt").tolist() for i in range(3)]
    for i, row in greedy(sluice, model, folder, prompts, 48).items():
        if row["tokens"] != reference.get_tensor(f"greedy.{i}.tokens").tolist():
            problems.append(f"greedy continuation {i} differs")
        else:
            problems += differences(f"greedy {i}", row["logprobs"], reference.get_tensor(f"greedy.{i}.logprobs").tolist(),
                                    MAX_ERROR, MEAN_ERROR)
    return problems


def check_recorded(sluice, model, folder):
    """The real model: check.json holds what transformers answered in float32."""
    answers, problems = json.load(open(os.path.join(model, "check.json"), encoding="utf-8")), []
    sequences = {str(i): a["prompt_ids"] + a["ids"] for i, a in enumerate(answers)}
    by_path = {path: score(sluice, model, folder, "fp32", path, sequences) for path in ("rollout", "learner")}
    if by_path["rollout"] != by_path["learner"]:
        problems.append("rollout and learner log-probabilities differ")
    for i, answer in enumerate(answers):
        n = len(answer["ids"])
        problems += differences(f"answer {i}", by_path["rollout"][str(i)][-n:], answer["logprobs"], MAX_ERROR, MEAN_ERROR)
        row = greedy(sluice, model, folder, [answer["prompt_ids"]], n)[0]
        if row["tokens"] != answer["ids"]:
            problems.append(f"greedy answer {i} differs: {row['text']!r}")
    return problems


def check_one(sluice, model):
    recorded = os.path.exists(os.path.join(model, "check.json"))
    with tempfile.TemporaryDirectory() as folder:
        return (check_recorded if recorded else check)(sluice, model, folder)


def main():
    binaries, oracle = sys.argv[1:3]
    names = ("reference.safetensors", "check.json")
    models = sorted(d.path for d in os.scandir(oracle) if any(os.path.exists(os.path.join(d.path, n)) for n in names)) \
        if os.path.isdir(oracle) else []
    if not models:
        print(f"Skipped: no oracle checkpoints in '{oracle}'")
        return 77
    if not os.path.exists(os.path.join(oracle, "smollm2")):
        print("Skipped: the recorded answers of SmolLM2 (tests/parity/smollm2.sh could not make the model)")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = [pool.submit(check_one, os.path.join(binaries, "sluice"), model) for model in models]
        for model, result in zip(models, results, strict=True):
            problems = result.result()
            failed += bool(problems)
            print(f"{os.path.basename(model)}: {'; '.join(problems) or 'ok'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
