#!/usr/bin/env python3
"""`sluice score` and `sluice generate` against the oracle: cli_parity.py BIN_DIR ORACLE_DIR

For each checkpoint, in float32: log-probabilities by the rollout path and by the learner path within 2e-4 (mean 2e-5)
of the float64 reference and equal to each other bit for bit; greedy continuations identical. Exit 77: nothing to test.
"""
import json
import os
import subprocess
import sys
import tempfile

MAX_ERROR, MEAN_ERROR = 2e-4, 2e-5
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


def check(sluice, model, folder):
    from safetensors import safe_open
    reference = safe_open(os.path.join(model, "reference.safetensors"), "np")
    source, out = os.path.join(folder, "in.jsonl"), os.path.join(folder, "out.jsonl")
    write(source, [{"id": s, "tokens": reference.get_tensor(f"tokens.{s}").tolist()} for s in SEQUENCES])
    scores, problems = {}, []
    for path in ("rollout", "learner"):
        run(sluice, "score", "--model", model, "--input", source, "--output", out, "--dtype", "fp32", "--path", path)
        scores[path] = {row["id"]: row["logprobs"] for row in rows(out)}
        for s in SEQUENCES:
            want = reference.get_tensor(f"logprobs.{s}")
            errors = [abs(a - b) for a, b in zip(scores[path][s], want, strict=True)]
            if max(errors) > MAX_ERROR or sum(errors) / len(errors) > MEAN_ERROR:
                problems.append(f"{path} {s}: max {max(errors):.2e}, mean {sum(errors) / len(errors):.2e}")
    if scores["rollout"] != scores["learner"]:
        problems.append("rollout and learner log-probabilities differ")
    prompts = [reference.get_tensor(f"greedy.{i}.prompt").tolist() for i in range(3)]
    write(source, [{"id": str(i), "tokens": p, "temperature": 0, "max_tokens": 48, "ignore_eos": True}
                   for i, p in enumerate(prompts)])
    run(sluice, "generate", "--model", model, "--input", source, "--output", out, "--dtype", "fp32")
    for row in rows(out):
        if row["tokens"] != reference.get_tensor(f"greedy.{row['id']}.tokens").tolist():
            problems.append(f"greedy continuation {row['id']} differs")
    return problems


def main():
    binaries, oracle = sys.argv[1:3]
    models = sorted(d.path for d in os.scandir(oracle) if os.path.exists(os.path.join(d.path, "reference.safetensors"))) \
        if os.path.isdir(oracle) else []
    if not models:
        print(f"Skipped: no oracle checkpoints in '{oracle}'")
        return 77
    failed = 0
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            problems = check(os.path.join(binaries, "sluice"), model, folder)
        failed += bool(problems)
        print(f"{os.path.basename(model)}: {'; '.join(problems) or 'ok'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
