#!/usr/bin/env python3
"""Jobs of different priority on one fleet of real processes: sharing.py BIN_DIR PART

gangs        two learner gangs: two jobs run at once, a third of higher priority goes before one that waits, all succeed.
coordinator  kill -9 of the coordinator while two jobs run: both succeed.
preempt      one learner gang: a job of higher priority takes the learner after a step, the other goes on afterwards without
             redoing a step.
"""
import json
import os
import signal
import sys
import tempfile
import time

from fleet import LIMIT, Fleet, check_ledger

JOB = """
name: "{name}" seed: {seed}
model {{ path: "{folder}/arithmetic/model" dtype: BF16 }}
prompts {{ file: "{folder}/arithmetic/train.jsonl" max_tokens: 64 }}
sampling {{ group_size: 4 max_new_tokens: 8 }}
reward {{ component {{ name: "answer" weight: 1 math {{}} }} }}
algorithm {{ grpo {{}} }}
optimizer {{ adamw {{ learning_rate: 1e-4 }} }}
batch {{ groups_per_step: 4 }}
checkpoint {{ every_steps: 1000 }}
share {{ priority: {priority} }}
stop {{ steps: {steps} }}
"""
SHAPE = ["--rollout", "2", "--reward", "1", "--threads", "1"]


class Jobs:
    def __init__(self, fleet, folder):
        self.fleet, self.folder, self.count = fleet, folder, 0
        made = fleet.run("demo", "--prepare", os.path.join(folder, "arithmetic"))
        assert made.returncode == 0, made.stderr

    def submit(self, name, priority, steps):
        self.count += 1
        file = os.path.join(self.folder, name + ".textproto")
        with open(file, "w", encoding="utf-8") as f:
            f.write(JOB.format(name=name, seed=self.count, folder=self.folder, priority=priority, steps=steps))
        return self.fleet.submit(file)

    def await_step(self, job, step):
        return self.fleet.await_job(job, lambda shown: int(shown["step"]) >= step)

    def await_success(self, job):
        shown = self.fleet.await_job(job, lambda now: now["state"] in ("SUCCEEDED", "FAILED"))
        assert shown["state"] == "SUCCEEDED", shown["error"]
        ledger = check_ledger(shown["ledger"])
        assert ledger.get("quarantined", 0) == 0 and ledger.get("in_flight", 0) == 0, ledger
        return shown


def events_of(shown):
    return [event["text"] for event in shown["events"]]


def gangs(fleet, jobs):
    first, second = jobs.submit("first", 0, 30), jobs.submit("second", 1, 30)
    jobs.await_step(first, 1)
    jobs.await_step(second, 1)
    running = [fleet.show(job) for job in (first, second)]
    assert {job["learner"] for job in running} == {"learner-0", "learner-g1-0"}, running
    assert [job["rollout_workers"] for job in running] == [1, 1], running
    last = jobs.submit("last", -1, 2)
    waiting = fleet.show(last)
    assert waiting["waiting_for"].startswith("its turn, behind "), waiting["waiting_for"]
    changed = fleet.call("priority", last, "--json", "--", "-2")
    assert changed.returncode == 0 and json.loads(changed.stdout)["spec"]["share"]["priority"] == -2, changed
    refused = fleet.call("priority", last, "1001")
    assert refused.returncode != 0 and "share.priority" in refused.stderr, refused
    for job in (first, second, last):
        jobs.await_success(job)


def coordinator(fleet, jobs):
    first, second = jobs.submit("first", 0, 12), jobs.submit("second", 0, 12)
    jobs.await_step(first, 2)
    jobs.await_step(second, 2)
    os.kill(fleet.process("coordinator")["pid"], signal.SIGKILL)
    for job in (first, second):
        fleet.await_answer(job)
        jobs.await_success(job)


def preempt(fleet, jobs):
    low = jobs.submit("low", 0, 40)
    jobs.await_step(low, 2)
    high = jobs.submit("high", 5, 4)
    ended = jobs.await_success(high)
    assert any(text.startswith("takes learner learner-0 from " + low) for text in events_of(ended)), events_of(ended)
    resumed = events_of(jobs.await_success(low))
    assert any(text.startswith("pre-empted by " + high) for text in resumed), resumed
    assert not any("redone" in text for text in resumed), resumed


class SharingFleet(Fleet):
    def await_answer(self, job):
        """A coordinator that was killed is started again, and answers."""
        deadline = time.monotonic() + LIMIT
        while self.call("show", job).returncode != 0:
            assert time.monotonic() < deadline, "the coordinator does not answer"
            time.sleep(0.1)


def main():
    binaries, part = sys.argv[1:]
    body, options = {"gangs": (gangs, ["--learner-gangs", "2"]), "coordinator": (coordinator, ["--learner-gangs", "2"]),
                     "preempt": (preempt, [])}[part]
    with tempfile.TemporaryDirectory() as folder:
        with SharingFleet(binaries, os.path.join(folder, "state"), *SHAPE, *options) as fleet:
            body(fleet, Jobs(fleet, folder))


if __name__ == "__main__":
    main()
