#!/usr/bin/env python3
"""Runs `sluice bench engine` and llama.cpp's llama-batched-bench in turns on the same model and prints the ratios.

  python3 bench/engine_against_llama_cpp.py --model DIR --gguf FILE --llama DIR_OF_TOOLS [--sluice build/bin/sluice]
          [--batch 1,8,32,64] [--prompt 128] [--new 128] [--threads 2] [--rounds 3] [--json OUT]

DIR is the Hugging Face directory, FILE the same weights as a bf16 GGUF. Both sides: the same number of threads, bf16
weights; llama.cpp with flash attention and one KV stream a sequence, and without sampling (its tool has none), Sluice
with sampling at temperature 1. Each round runs one after the other, so that both see the same machine; the figures are
medians over rounds, [min-max]. Needs Python 3.9, nothing else.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys


def run_llama(args, batch):
    context = batch * (args.prompt + args.new)
    command = [os.path.join(args.llama, "llama-batched-bench"), "-m", args.gguf, "-c", str(context), "-b", "2048",
               "-ub", "512", "-t", str(args.threads), "-tb", str(args.threads), "-ngl", "0", "-npp", str(args.prompt),
               "-ntg", str(args.new), "-npl", str(batch), "-fa", "on", "-no-kvu", "--output-format", "jsonl"]
    environment = {**os.environ, "OMP_NUM_THREADS": str(args.threads)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    rows = [json.loads(line[line.index("{"):]) for line in (done.stdout + done.stderr).splitlines() if '"speed_tg"' in line]
    if done.returncode != 0 or len(rows) != 1:
        sys.exit(f"llama-batched-bench failed:\n{done.stderr[-2000:]}")
    return {"prefill_tps": rows[0]["speed_pp"], "decode_tps": rows[0]["speed_tg"]}


def run_sluice(args, batch):
    command = [args.sluice, "bench", "engine", "--model", args.model, "--prompt", str(args.prompt), "--new", str(args.new),
               "--batch", str(batch), "--threads", str(args.threads), "--runs", "1", "--dtype", "bf16", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"sluice bench engine failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])["rows"][0]


def spread(values):
    return f"{statistics.median(values):.0f} [{min(values):.0f}-{max(values):.0f}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--gguf", required=True)
    parser.add_argument("--llama", required=True)
    parser.add_argument("--sluice", default="build/bin/sluice")
    parser.add_argument("--batch", default="1,8,32,64")
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--new", type=int, default=128)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json")
    args = parser.parse_args()
    out = []
    print("| batch | decode: Sluice | llama.cpp | ratio | prefill: Sluice | llama.cpp | ratio |\n|---|---|---|---|---|---|---|")
    for batch in [int(b) for b in args.batch.split(",")]:
        rounds = [(run_sluice(args, batch), run_llama(args, batch)) for _ in range(args.rounds)]
        cells, row = [], {"batch": batch}
        for key in ("decode_tps", "prefill_tps"):
            ours, theirs = ([r[side][key] for r in rounds] for side in (0, 1))
            ratio = statistics.median(a / b for a, b in zip(ours, theirs))
            cells += [spread(ours), spread(theirs), f"{ratio:.2f}"]
            row[key] = {"sluice": ours, "llama_cpp": theirs, "ratio": ratio}
        out.append(row)
        print(f"| {batch} | " + " | ".join(cells) + " |", flush=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"model": args.model, "prompt": args.prompt, "new": args.new, "rows": out}, f)


if __name__ == "__main__":
    main()
