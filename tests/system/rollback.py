#!/usr/bin/env python3
"""A job whose learning rate is far too high goes back by itself, and pauses when it may not go back again: rollback.py BIN_DIR

The limit on the divergence is broken as soon as samples are a version old. Each time the job goes back to its newest good
checkpoint as a new version, with nothing sampled before it trained on after it; the last broken limit pauses it. The metric,
the commands and the coordinator's account say so, the account checked without the coordinator's code.
"""
import os
import re
import sys
import tempfile
import urllib.request

from fleet import LIMIT, Fleet, check_ledger

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fault"))
import ledger_check  # noqa: E402

JOB = """name: "rollback" seed: 5
model {{ path: "{folder}/arithmetic/model" }}
prompts {{ file: "{folder}/arithmetic/train.jsonl" max_tokens: 32 }}
sampling {{ group_size: 4 max_new_tokens: 6 }}
reward {{ component {{ name: "form" regex {{ pattern: "[0-4]" }} }} }}
algorithm {{ grpo {{}} }}
optimizer {{ adamw {{ learning_rate: 0.01 }} }}
batch {{ groups_per_step: 4 }}
evaluation {{ file: "{folder}/arithmetic/held_out.jsonl" every_steps: 4 max_prompts: 4 measure: REWARD gate {{ max_drop: 1 }} }}
checkpoint {{ every_steps: 2 }}
guard {{ max_kl: 0.05 steps: 1 max_rollbacks: 2 }}
stop {{ steps: 100 }}
"""


def metric(fleet, name):
    with urllib.request.urlopen(f"http://{fleet.process('coordinator')['metrics']}/metrics", timeout=LIMIT) as response:
        return float(re.search(rf"^{name} (\S+)$", response.read().decode(), re.M)[1])


def main():
    with tempfile.TemporaryDirectory() as folder:
        with Fleet(sys.argv[1], os.path.join(folder, "state"), "--rollout", "2") as fleet:
            made = fleet.run("demo", "--prepare", os.path.join(folder, "arithmetic"))
            assert made.returncode == 0, made.stderr
            file = os.path.join(folder, "job.textproto")
            with open(file, "w", encoding="utf-8") as f:
                f.write(JOB.format(folder=folder))
            job = fleet.submit(file)
            shown = fleet.await_job(job, lambda j: j["state"] not in ("PENDING", "RUNNING"))
            assert shown["state"] == "PAUSED" and "guard.max_rollbacks 2 are used up" in shown["error"], shown
            rollbacks = [(int(r["policy_version"]), int(r.get("parent", 0)), r["reason"]) for r in shown["rollbacks"]]
            assert len(rollbacks) == 2 and metric(fleet, "sluice_rollbacks_total") == 2, rollbacks
            for version, parent, reason in rollbacks:
                assert parent < version - 1 and re.search(r"kl is \S+, above guard.max_kl 0.05", reason), rollbacks
            assert rollbacks[1][1] >= rollbacks[0][0], f"behind the one before: {rollbacks}"
            assert check_ledger(shown["ledger"])["rolled_back"] > 0, shown["ledger"]
            told = fleet.call("show", job).stdout
            assert f"rolled back: version {rollbacks[1][0]} is version {rollbacks[1][1]} again" in told, told
            promoted = int(shown["promoted_version"])
            kept = fleet.call("checkpoints", job).stdout
            assert re.search(rf"^ +{promoted} .*\(promoted\)$", kept, re.M), kept
            exported = fleet.call("export", job, os.path.join(folder, "out"))
            assert exported.returncode == 0 and f'"policy_version":{promoted}' in exported.stdout, exported
            assert fleet.call("resume", job).returncode == 0
            fleet.await_job(job, lambda j: int(j["step"]) > int(shown["step"]))
            assert fleet.call("cancel", job).returncode == 0
            problems = ledger_check.check(os.path.join(folder, "state", "coordinator"))
            assert not problems, problems
            print(f"went back: {[(version, parent) for version, parent, _ in rollbacks]}")


main()
