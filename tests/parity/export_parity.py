#!/usr/bin/env python3
"""An exported directory is a Hugging Face model: export_parity.py BIN_DIR ORACLE_DIR

Runs a two-step job in float32 from an oracle checkpoint on a private cluster, exports it, and compares the
log-probabilities of `sluice score` with those of transformers in float64 on the exported directory. Then a second job
starts from the export. Exit 77: nothing to test.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

PRESETS = ["v3", "v2-lite"]
MAX_ERROR = 2e-4
JOB = """
name: "export" seed: 3
model {{ path: "{model}" dtype: F32 }}
prompts {{ file: "{prompts}" max_tokens: 64 }}
sampling {{ group_size: 4 max_new_tokens: 8 }}
reward {{ component {{ name: "length" length {{ soft_limit: 4 hard_limit: 40 }} }} }}
algorithm {{ grpo {{ normalize_std: false }} }}
optimizer {{ adamw {{ learning_rate: 1e-3 }} }}
batch {{ groups_per_step: 2 }}
staleness {{ max_versions: 0 }}
stop {{ steps: 2 }}
"""


def sluice(binaries, *args, check=True, timeout=240):
    done = subprocess.run([os.path.join(binaries, "sluice"), *args], capture_output=True, text=True, timeout=timeout)
    if check and done.returncode != 0:
        raise SystemExit(f"sluice {' '.join(args)} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def run_job(binaries, state, folder, model, name):
    path = os.path.join(folder, f"{name}.textproto")
    prompts = os.path.join(folder, "prompts.jsonl")
    with open(prompts, "w", encoding="utf-8") as f:
        f.writelines(json.dumps({"prompt": f"What is {i} + {i + 1}?"}) + "\n" for i in range(8))
    with open(path, "w", encoding="utf-8") as f:
        f.write(JOB.format(model=model, prompts=prompts))
    out = sluice(binaries, "submit", path, "--wait", "--state", state)
    return json.loads(out.strip().splitlines()[0])["job"]


def transformers_logprobs(model, sequences):
    import torch
    from transformers import AutoModelForCausalLM
    kw = {"experts_implementation": "eager"}  # the grouped products have no float64
    net = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float64, attn_implementation="eager", **kw)
    out = {}
    for name, tokens in sequences.items():
        with torch.no_grad():
            logits = net(torch.tensor([tokens])).logits[0].double()
        lp = logits.log_softmax(-1)
        out[name] = [lp[t, tokens[t + 1]].item() for t in range(len(tokens) - 1)]
    return out


def check(binaries, model, folder):
    from safetensors import safe_open
    reference = safe_open(os.path.join(model, "reference.safetensors"), "np")
    sequences = {s: reference.get_tensor(f"tokens.{s}").tolist() for s in ("s7", "s33")}
    state = os.path.join(folder, "state")
    up = subprocess.Popen([os.path.join(binaries, "sluice"), "up", "--state", state, "--rollout", "1"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not os.path.exists(os.path.join(state, "cluster.json")) or \
                subprocess.run([os.path.join(binaries, "sluice"), "jobs", "--state", state], capture_output=True).returncode:
            if up.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("sluice up did not come up: " + (up.stderr.read() if up.poll() is not None else ""))
            time.sleep(0.2)
        job = run_job(binaries, state, folder, model, "first")
        exported = os.path.join(folder, "exported")
        sluice(binaries, "export", job, exported, "--state", state)
        run_job(binaries, state, folder, exported, "second")
    finally:
        up.terminate()
        up.wait(60)
    source, out = os.path.join(folder, "in.jsonl"), os.path.join(folder, "out.jsonl")
    with open(source, "w", encoding="utf-8") as f:
        f.writelines(json.dumps({"id": s, "tokens": t}) + "\n" for s, t in sequences.items())
    sluice(binaries, "score", "--model", exported, "--input", source, "--output", out, "--dtype", "fp32")
    ours = {row["id"]: row["logprobs"] for row in map(json.loads, open(out, encoding="utf-8"))}
    theirs = transformers_logprobs(exported, sequences)
    before = transformers_logprobs(model, sequences)
    errors = [abs(a - b) for s in sequences for a, b in zip(ours[s], theirs[s], strict=True)]
    moved = max(abs(a - b) for s in sequences for a, b in zip(before[s], theirs[s], strict=True))
    print(f"{os.path.basename(model)}: max error {max(errors):.2e} over {len(errors)} tokens; training moved them by {moved:.2e}")
    return max(errors) <= MAX_ERROR and moved > MAX_ERROR


def main():
    binaries, oracle = sys.argv[1:3]
    models = [os.path.join(oracle, p) for p in PRESETS if os.path.exists(os.path.join(oracle, p, "reference.safetensors"))]
    if not models:
        print(f"Skipped: no oracle checkpoints in '{oracle}'")
        return 77
    ok = True
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            ok = check(binaries, model, folder) and ok
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
