#!/usr/bin/env python3
"""What was recorded comes out again: replay.py BIN_DIR

An asynchronous job on two rollout workers is recorded and replayed: weights, samples and metrics are equal, step by step. So
they are for a job during which a rollout worker was killed, replayed on a fleet whose coordinator is killed meanwhile. A record
that was tampered with is found, Ctrl-C leaves a cancelled replay, and the accounts are checked without the coordinator's code.
"""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from fleet import LIMIT, Fleet, check_ledger

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fault"))
import ledger_check  # noqa: E402

STEPS = 6
JOB = """name: "recorded"   seed: 5
model {{ path: "{folder}/arithmetic/model" }}
prompts {{ file: "{folder}/arithmetic/train.jsonl" max_tokens: 32 }}
sampling {{ group_size: 4 max_new_tokens: 6 }}
reward {{ component {{ name: "answer" math {{}} }} component {{ name: "short" weight: 0.1 length {{ soft_limit: 1 hard_limit: 8 }} }} }}
algorithm {{ grpo {{}} }}
optimizer {{ adamw {{ learning_rate: 1e-3 }} }}
batch {{ groups_per_step: 4 }}
staleness {{ max_versions: 2 }}
checkpoint {{ every_steps: 3 progress_tokens: 2 }}
stop {{ steps: {steps} }}
"""


def write_job(folder, name, steps):
    file = os.path.join(folder, name)
    with open(file, "w", encoding="utf-8") as f:
        f.write(JOB.format(folder=folder, steps=steps))
    return file


def ended(job):
    return job["state"] in ("SUCCEEDED", "FAILED", "JOB_CANCELLED")


def kill(fleet, role):
    os.kill(fleet.process(role)["pid"], signal.SIGKILL)


def check_equal(replayed, steps):
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    result = json.loads(replayed.stdout)
    assert result["equal"], result
    assert [int(s["step"]) for s in result["steps"]] == list(range(steps + 1)), result
    assert sum(int(s["samples_compared"]) for s in result["steps"]) > 0, result
    for step in result["steps"]:
        assert step["equal"] and step["manifest_hash"] == step["recorded_manifest_hash"], step
    return result


def record(fleet, file, disturb=None):
    job = fleet.submit(file)
    if disturb is not None:
        fleet.await_job(job, lambda j: int(j["step"]) >= 2)
        disturb()
    done = fleet.await_job(job, ended)
    assert done["state"] == "SUCCEEDED", done
    check_ledger(done["ledger"])
    return job


def replay_through_a_death(fleet, job):
    """The coordinator is killed in the middle of the replay; the command goes on."""
    command = subprocess.Popen([fleet.binary("sluice"), "replay", job, "--json", "--state", fleet.state],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + LIMIT
    while not any(int(j["step"]) >= 2 for j in fleet.jobs() if j["spec"].get("replay", {}).get("job") == job):
        assert time.monotonic() < deadline and command.poll() is None, command.communicate()
        time.sleep(0.02)
    kill(fleet, "coordinator")
    out, err = command.communicate(timeout=LIMIT)
    return subprocess.CompletedProcess(command.args, command.returncode, out, err)


def check_tampered(fleet, job):
    with sqlite3.connect(os.path.join(fleet.state, "coordinator", "sluice.db"), timeout=30) as database:
        database.execute("UPDATE batches SET metrics = json_set(metrics, '$.metrics.loss', 7.5) WHERE job = ? AND version = 2",
                         (job,))
    replayed = fleet.call("replay", job, "--steps", "3")
    assert replayed.returncode == 1, replayed.stdout + replayed.stderr
    assert f"differs from {job}, first in step 2: metric loss: recorded 7.5, now" in replayed.stdout, replayed.stdout


def check_interrupted(fleet, folder):
    job = fleet.submit(write_job(folder, "long.textproto", 1000000))
    fleet.await_job(job, lambda j: int(j["step"]) >= 20)
    assert fleet.call("cancel", job).returncode == 0
    command = subprocess.Popen([fleet.binary("sluice"), "replay", job, "--state", fleet.state], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    assert command.stdout.readline().split() == ["step", "weights", "samples", "metrics"]
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=LIMIT)
    assert command.returncode == 130, (command.returncode, out, err)
    replay = next(j["job"] for j in fleet.jobs() if j["spec"].get("replay", {}).get("job") == job)
    done = fleet.await_job(replay, ended)
    assert done["state"] == "JOB_CANCELLED", done
    check_ledger(done["ledger"])


def check_refusals(fleet, job):
    for arguments, code, says in ((["none"], 2, "none"), ([job, "--steps", "99"], 2, f"has {STEPS} steps")):
        refused = fleet.call("replay", *arguments)
        assert refused.returncode == code and says in refused.stderr, (refused.returncode, refused.stderr)


def main(binaries):
    folder = tempfile.mkdtemp()
    state = os.path.join(folder, "state")
    try:
        with Fleet(binaries, state, "--rollout", "2", "--threads", "1") as fleet:
            prepared = fleet.run("demo", "--prepare", os.path.join(folder, "arithmetic"))
            assert prepared.returncode == 0, prepared.stderr
            file = write_job(folder, "job.textproto", STEPS)
            quiet = record(fleet, file)
            check_equal(fleet.call("replay", quiet, "--json"), STEPS)
            check_equal(fleet.call("replay", quiet, "--json", "--steps", "2"), 2)
            disturbed = record(fleet, file, lambda: kill(fleet, "rollout"))
            check_equal(replay_through_a_death(fleet, disturbed), STEPS)
            check_refusals(fleet, quiet)
            check_tampered(fleet, quiet)
            check_interrupted(fleet, folder)
        violations = ledger_check.check(os.path.join(state, "coordinator"))
        assert not violations, "\n".join(violations)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
