#!/usr/bin/env python3
"""A version that its canary refuses is served by one worker and no other: canary.py BIN_DIR

No version can reach the least score. The first that a step makes is gone back from, the next pauses the job: one worker has
it, the other the version before. A person takes it, then both have it, and the same happens to the one after it.
"""
import json
import os
import re
import sys
import tempfile
import urllib.request

from fleet import LIMIT, Fleet, check_ledger

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fault"))
import ledger_check  # noqa: E402

JOB = """name: "canary" seed: 5
model {{ path: "{folder}/arithmetic/model" }}
prompts {{ file: "{folder}/arithmetic/train.jsonl" max_tokens: 32 }}
sampling {{ group_size: 4 max_new_tokens: 6 }}
reward {{ component {{ name: "form" regex {{ pattern: "[0-4]" }} }} }}
algorithm {{ grpo {{}} }}
optimizer {{ adamw {{ learning_rate: 1e-4 }} }}
batch {{ groups_per_step: 4 }}
evaluation {{ file: "{folder}/arithmetic/held_out.jsonl" every_steps: 100 max_prompts: 4 measure: REWARD
             canary {{ prompts: 3 min_score: 2 }} }}
checkpoint {{ every_steps: 2 }}
guard {{ max_rollbacks: 1 }}
stop {{ steps: 100 }}
"""


def metric(process, name):
    with urllib.request.urlopen(f"http://{process['metrics']}/metrics", timeout=LIMIT) as response:
        return float(re.search(rf"^{name}(?:{{.*}})? (\S+)$", response.read().decode(), re.M)[1])


def served(fleet):
    """By each rollout worker, as it says itself."""
    with open(os.path.join(fleet.state, "cluster.json"), encoding="utf-8") as f:
        workers = [p for p in json.load(f)["processes"] if p["role"] == "rollout"]
    return {f"rollout-{p['index']}": int(metric(p, "sluice_policy_version")) for p in workers}


def await_refusal(fleet, job, version):
    """The job is paused, and what its workers serve is told."""
    shown = fleet.await_job(job, lambda j: j["state"] not in ("PENDING", "RUNNING")
                            and int(j["policy_version"]) == version)
    canary = shown["canary"]
    assert shown["state"] == "PAUSED" and f"goes on and takes version {version}" in shown["error"], shown
    assert canary["decision"] == "REFUSED" and int(canary["policy_version"]) == version, canary
    assert "is below evaluation.canary.min_score 2" in canary["reason"] and "trial" not in shown, shown
    versions = served(fleet)
    assert versions.pop(canary["worker"]) == version, (versions, canary)
    assert set(versions.values()) == {version - 1}, (versions, canary)
    return shown


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Fleet(sys.argv[1], os.path.join(folder, "state"), "--rollout", "2") as fleet:
            made = fleet.run("demo", "--prepare", os.path.join(folder, "arithmetic"))
            assert made.returncode == 0, made.stderr
            file = os.path.join(folder, "job.textproto")
            with open(file, "w", encoding="utf-8") as f:
                f.write(JOB.format(folder=folder))
            job = fleet.submit(file)
            shown = await_refusal(fleet, job, 3)
            rollbacks = [(int(r["policy_version"]), int(r.get("parent", 0))) for r in shown["rollbacks"]]
            assert rollbacks == [(2, 0)] and "canary of version 1 on" in shown["rollbacks"][0]["reason"], shown
            assert metric(fleet.process("coordinator"), "sluice_canary_refused_total") == 2
            told = fleet.call("show", job).stdout
            assert re.search(r"canary: version 3 refused, score \S+; the score", told), told
            samples = fleet.call("samples", job, "--evaluation", "--step", "3", "--jsonl").stdout.splitlines()
            assert len(samples) == 3, samples
            assert fleet.call("resume", job).returncode == 0
            again = await_refusal(fleet, job, 4)
            texts = [event["text"] for event in again["events"]]
            assert "version 3 is taken though its canary refused it" in texts, texts
            assert fleet.call("cancel", job).returncode == 0
            ended = fleet.await_job(job, lambda j: j["state"] not in ("PAUSED", "RUNNING"))
            assert check_ledger(ended["ledger"])["rolled_back"] > 0, ended["ledger"]
            problems = ledger_check.check(os.path.join(folder, "state", "coordinator"))
            assert not problems, problems
            print(f"refused: 1, 3 and 4; gone back: {rollbacks}; 3 was taken")


main()
