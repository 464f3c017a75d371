#!/usr/bin/env python3
"""A full disk stops a job with a reason and loses nothing: full_disk.py BIN_DIR coordinator|learner

The role's state lies on a small tmpfs, which is filled while a job runs and emptied again. Exit 77 where none can be
mounted. The coordinator goes on by itself, also when it was killed while the disk was full; a learner's full disk
pauses the job until it is resumed. In the end the coordinator's account is checked without its code.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from fleet import LIMIT, Fleet, check_ledger, skip

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fault"))
import ledger_check  # noqa: E402

JOB = """name: "disk"
model {{ path: "{folder}/arithmetic/model" }}
prompts {{ file: "{folder}/arithmetic/train.jsonl" max_tokens: 32 }}
sampling {{ group_size: 4 max_new_tokens: 6 }}
reward {{ component {{ name: "answer" math {{}} }} }}
algorithm {{ grpo {{}} }}
batch {{ groups_per_step: 4 }}
checkpoint {{ every_steps: 5 keep: 1 }}
stop {{ steps: 1000000 }}
"""
SIZE = "24m"


def fill(file):
    """Takes what is left, to the last byte."""
    with open(file, "ab", buffering=0) as f:
        for block in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    f.write(b"x" * block)
            except OSError:
                pass


def stopped(job):
    text = f"{job['state']} {job.get('waiting_for', '')} {job.get('error', '')}".lower()
    return job["state"] == "PAUSED" or "disk" in text or "no space" in text


def kill(fleet, role, job):
    """kill -9; the job as the process shows it that takes its place."""
    before = fleet.process(role)["pid"]
    os.kill(before, signal.SIGKILL)
    deadline = time.monotonic() + LIMIT
    while True:
        shown = fleet.call("show", "--json", job)
        if shown.returncode == 0 and fleet.process(role)["pid"] != before:
            return json.loads(shown.stdout)
        assert time.monotonic() < deadline, f"nobody takes the place of {role}: {shown.stderr}"
        time.sleep(0.1)


def run(binaries, role, folder):
    state = os.path.join(folder, "state")
    disk = os.path.join(state, role)
    os.makedirs(disk)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", disk], capture_output=True,
                             text=True)
    if mounted.returncode != 0:
        skip(f"no tmpfs can be mounted here: {mounted.stderr.strip()}")
    try:
        with Fleet(binaries, state, "--rollout", "1") as fleet:
            prepared = fleet.run("demo", "--prepare", os.path.join(folder, "arithmetic"))
            assert prepared.returncode == 0, prepared.stderr
            file = os.path.join(folder, "job.textproto")
            with open(file, "w", encoding="utf-8") as f:
                f.write(JOB.format(folder=folder))
            job = fleet.submit(file)
            fleet.await_job(job, lambda j: int(j["step"]) >= 2)
            filler = os.path.join(disk, "filler")
            deadline = time.monotonic() + LIMIT
            shown = fleet.show(job)
            while not stopped(shown):
                assert time.monotonic() < deadline, f"the job does not stop: {shown}"
                fill(filler)  # again: what old versions leave
                time.sleep(0.05)
                shown = fleet.show(job)
            print(f"{shown['state']}: {shown.get('waiting_for')} {shown.get('error')}", flush=True)
            said = shown.get("waiting_for", "") + "".join(e["text"] for e in shown.get("events", []))
            assert shown["state"] == "PAUSED" and ("disk" in said or "No space left" in said), shown
            check_ledger(shown["ledger"])
            if role == "coordinator":
                restarted = kill(fleet, role, job)
                assert check_ledger(restarted["ledger"])["trained"] >= check_ledger(shown["ledger"])["trained"], restarted
            os.remove(filler)
            if role == "learner":
                resumed = fleet.call("resume", job)
                assert resumed.returncode == 0, resumed.stderr
            # Steps whose groups were complete may come before it is seen that there is room.
            fleet.await_job(job, lambda j: int(j["step"]) >= int(shown["step"]) + 2 and j["state"] == "RUNNING")
            assert fleet.call("cancel", job).returncode == 0
            ended = fleet.await_job(job, lambda j: j["state"] == "JOB_CANCELLED")
            assert check_ledger(ended["ledger"])["in_flight"] == 0, ended["ledger"]
        violations = ledger_check.check(os.path.join(state, "coordinator"))
        assert not violations, "\n".join(violations)
    finally:
        subprocess.run(["umount", "-l", disk], check=False)
    print("passed")


def main():
    if os.geteuid() != 0:
        skip("only root may mount a small file system")
    with tempfile.TemporaryDirectory() as folder:
        run(sys.argv[1], sys.argv[2], folder)


main()
