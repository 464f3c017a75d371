#!/usr/bin/env python3
"""examples/gsm8k.textproto, as a user would run it: gsm8k_example.py BIN_DIR

Real text, lengths and answers go through tokenizer, engine, judge and learner for five steps. The model is the oracle's:
random weights with a small byte-level vocabulary.
"""
import json
import os
import sys
import tempfile

from fleet import Fleet, check_ledger, skip

STEPS, GROUPS, GROUP_SIZE = 5, 4, 4


def check_samples(fleet, job, rows):
    listed = fleet.call("samples", "--jsonl", "--limit", "1000", job)
    assert listed.returncode == 0, listed.stderr
    samples = [json.loads(line) for line in listed.stdout.splitlines()]
    assert len(samples) == STEPS * GROUPS * GROUP_SIZE, len(samples)
    for sample in samples:
        row = rows[sample["prompt_uid"]]
        assert sample["prompt"] == row["prompt"], sample
        answer = next(c for c in sample["verdict"]["components"] if c["name"] == "answer")
        assert answer["kind"] in ("CORRECT", "WRONG"), answer
        if answer["kind"] == "WRONG" and "is not" in answer["detail"]:
            assert f'"{row["answer"]}"' in answer["detail"], (answer, row["answer"])
        assert sample["text"] and len(sample["tokens"]) == len(sample["logprobs"]) <= 48, sample
    assert len({s["prompt_uid"] for s in samples}) == STEPS * GROUPS
    page = fleet.call("samples", "--limit", "2", job)
    assert page.returncode == 0 and ">>>" in page.stdout and "GRADED" in page.stdout, page.stdout


def main():
    data, oracle = os.environ.get("SLUICE_DATA_DIR"), os.environ.get("SLUICE_ORACLE_DIR")
    if not data or not oracle:
        skip("SLUICE_DATA_DIR (../shared/data) or SLUICE_ORACLE_DIR (made by tests/run.sh) is not set")
    train = os.path.join(data, "gsm8k", "train.jsonl")
    with open(train, encoding="utf-8") as f:
        rows = {row["id"]: row for row in map(json.loads, f)}
    example = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "gsm8k.textproto")
    settings = ["--set", f"model.path={oracle}/v3", "--set", f"prompts.file={train}"]
    with tempfile.TemporaryDirectory() as folder, Fleet(sys.argv[1], os.path.join(folder, "state"), "--rollout",
                                                        "1") as fleet:
        checked = fleet.call("check", example, *settings)
        assert checked.returncode == 0 and f"{len(rows)} rows" in checked.stdout, checked.stdout + checked.stderr
        run = fleet.call("submit", example, *settings, "--wait")
        assert run.returncode == 0, run.stderr
        job = fleet.show(json.loads(run.stdout)["job"])
        assert job["state"] == "SUCCEEDED" and int(job["step"]) == STEPS, job
        ledger = check_ledger(job["ledger"])
        assert ledger["trained"] == STEPS * GROUPS * GROUP_SIZE and ledger["in_flight"] == 0, ledger
        assert job["last_step"]["metrics"]["exact_max_difference"] == 0, job["last_step"]
        check_samples(fleet, job["job"], rows)
    print("passed")


main()
