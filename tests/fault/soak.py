#!/usr/bin/env python3
"""The demonstration's job for a long time under random faults: soak.py BIN [--minutes N] [--seed N] [--csv FILE]

Every so often a random process of the fleet, its supervisor among them, is killed with kill -9 or stopped for some seconds. Resident
memory and open files of every process are sampled all the while. In the end: steps went on all the time, the ledger is whole, and
memory and files are flat - of each role over the soak, and of each process that lived long over its own life.
"""
import argparse
import collections
import csv
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time

import fault_fleet
from fault_fleet import FaultFleet, Store

SAMPLE_SECONDS = 2
STOPPED_SECONDS = (1, 6)
WARM_SECONDS = 60        # of a process: what it takes on in its first minute is not growth
LONG_LIFE_SECONDS = 240  # of a process whose own growth is looked at
MAX_GAP_SECONDS = 60     # between two steps, whatever died
RSS_SLACK_MIB, RSS_RATIO, MORE_FILES = 8, 1.15, 8

Sample = collections.namedtuple("Sample", "at role name pid age rss_mib files")


def look(pid):
    """(MiB resident, open files); None when it is gone."""
    try:
        with open(f"/proc/{pid}/statm", encoding="utf-8") as f:
            pages = int(f.read().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20, len(os.listdir(f"/proc/{pid}/fd"))
    except (OSError, ValueError, IndexError):
        return None


class Sampler:
    """Looks at every process of the fleet now and then, on a thread of its own."""

    def __init__(self, fleet):
        self.fleet, self.samples, self.born = fleet, [], {}
        self.start, self.stopping = time.monotonic(), threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.stopping.wait(SAMPLE_SECONDS):
            now = time.monotonic() - self.start
            for name, pid in self.fleet.pids().items():
                seen = look(pid)
                if seen is not None:
                    born = self.born.setdefault(pid, now)
                    self.samples.append(Sample(now, name.rsplit("-", 1)[0], name, pid, now - born, *seen))

    def finish(self):
        self.stopping.set()
        self.thread.join()
        return self.samples


def disturb(fleet, seconds, seconds_per_fault, seed):
    """How many processes were killed, how many stopped for a while."""
    draw, until, killed, stopped = random.Random(seed), time.monotonic() + seconds, 0, 0
    while time.monotonic() < until and not fleet.problems:
        time.sleep(max(0.0, min(draw.uniform(0.5, 1.5) * seconds_per_fault, until - time.monotonic())))
        name, pid = draw.choice(sorted(fleet.pids().items()))
        try:
            if draw.random() < 0.5:
                os.kill(pid, signal.SIGKILL)
                fleet.note_kill(name, pid)
                killed += 1
            else:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(draw.uniform(*STOPPED_SECONDS))
                os.kill(pid, signal.SIGCONT)
                stopped += 1
        except ProcessLookupError:
            continue  # it is being started again
    return killed, stopped


def slope_per_hour(points):
    """Least squares of (seconds, value)."""
    mean_x, mean_y = statistics.mean(x for x, _ in points), statistics.mean(y for _, y in points)
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    return 3600 * sum((x - mean_x) * (y - mean_y) for x, y in points) / spread if spread else 0.0


def grown(first, last):
    return statistics.median(s.rss_mib for s in last) > RSS_RATIO * statistics.median(s.rss_mib for s in first) + RSS_SLACK_MIB


def role_rows(samples):
    """Of each role: how it was in the first and in the last third of the soak; problems where it grew."""
    rows, problems, end = [], [], max(s.at for s in samples)
    for role in sorted({s.role for s in samples}):
        warm = [s for s in samples if s.role == role and s.age >= WARM_SECONDS]
        first, last = [s for s in warm if s.at <= end / 3], [s for s in warm if s.at >= end * 2 / 3]
        if not first or not last:
            problems.append(f"{role}: no process of it lived for {WARM_SECONDS} s in the first or last third")
            continue
        rows.append({"role": role, "processes": len({s.pid for s in samples if s.role == role}),
                     "first": statistics.median(s.rss_mib for s in first), "last": statistics.median(s.rss_mib for s in last),
                     "most": max(s.rss_mib for s in warm), "slope": slope_per_hour([(s.at, s.rss_mib) for s in warm]),
                     "files_first": max(s.files for s in first), "files_last": max(s.files for s in last)})
        if grown(first, last):
            problems.append(f"{role}: {rows[-1]['first']:.0f} MiB in the first third, {rows[-1]['last']:.0f} in the last")
        if rows[-1]["files_last"] > rows[-1]["files_first"] + MORE_FILES:
            problems.append(f"{role}: {rows[-1]['files_first']} open files in the first third, {rows[-1]['files_last']} in the last")
    return rows, problems


def life_problems(samples):
    """Processes that lived long and grew with their age."""
    problems, lives = [], collections.defaultdict(list)
    for sample in samples:
        if sample.age >= WARM_SECONDS:
            lives[sample.name, sample.pid].append(sample)
    for (name, pid), life in lives.items():
        if life[-1].age < LONG_LIFE_SECONDS:
            continue
        third = len(life) // 3
        if grown(life[:third], life[-third:]):
            problems.append(f"{name} (pid {pid}) grew in {life[-1].age:.0f} s from {life[0].rss_mib:.0f} to {life[-1].rss_mib:.0f} MiB")
        if max(s.files for s in life[-third:]) > max(s.files for s in life[:third]) + MORE_FILES:
            problems.append(f"{name} (pid {pid}) has {life[-1].files} open files after {life[-1].age:.0f} s, {life[0].files} before")
    return problems


def table(rows):
    lines = ["| role | processes | MiB, first third | last third | most | MiB per hour | open files, first third | last third |",
             "|---|---|---|---|---|---|---|---|"]
    lines += [f"| {r['role']} | {r['processes']} | {r['first']:.1f} | {r['last']:.1f} | {r['most']:.1f} | {r['slope']:+.1f} "
              f"| {r['files_first']} | {r['files_last']} |" for r in rows]
    return "\n".join(lines)


def await_end(fleet, job, deadline):
    """Cancels the job; whether it has ended."""
    while time.monotonic() < deadline:
        fleet.run("cancel", job)
        shown = fleet.run("show", job, "--json")
        if shown.returncode == 0 and json.loads(shown.stdout)["state"].endswith("CANCELLED"):
            return True
        time.sleep(0.5)
    return False


def soak(binaries, folder, minutes, seconds_per_fault, seed):
    job_file = fault_fleet.prepare_job(binaries, os.path.join(folder, "files"))
    fleet = FaultFleet(binaries, os.path.join(folder, "state"))
    out = {"problems": fleet.problems, "samples": []}
    try:
        fleet.await_serving(time.monotonic() + 60)
        job = json.loads(fleet.run("submit", job_file, "--set", "stop.steps=1000000").stdout)["job"]
        sampler = Sampler(fleet)
        out["killed"], out["stopped"] = disturb(fleet, minutes * 60, seconds_per_fault, seed)
        out["samples"] = sampler.finish()
        if not fleet.problems and not await_end(fleet, job, time.monotonic() + 60):
            fleet.problems.append(f"the job could not be cancelled: {fleet.run('jobs').stdout}")
    finally:
        fleet.stop()
    out["steps"] = fleet.step_times()
    gap = max((b - a for a, b in zip(out["steps"], out["steps"][1:])), default=float("inf"))
    out["gap"] = gap
    if gap > MAX_GAP_SECONDS:
        fleet.problems.append(f"no step for {gap:.0f} s")
    if not fleet.problems:
        fleet.problems += fault_fleet.ledger_problems(fleet.state)
        out["ledger"] = dict(Store(fleet.state).rows("SELECT name, samples FROM ledger WHERE job = ? AND samples != 0", job))
    out["logs"] = fleet.logs() if fleet.problems else ""
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seconds-per-fault", type=float, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv", default="", help="all samples")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = soak(arguments.binaries, folder, arguments.minutes, arguments.seconds_per_fault, arguments.seed)
    if arguments.csv:
        with open(arguments.csv, "w", encoding="utf-8", newline="") as f:
            csv.writer(f).writerows([Sample._fields, *out["samples"]])
    rows, problems = role_rows(out["samples"]) if out["samples"] else ([], ["nothing was sampled"])
    problems = out["problems"] + problems + life_problems(out["samples"])
    print(f"{arguments.minutes:g} minutes with seed {arguments.seed}: {out.get('killed')} processes killed, {out.get('stopped')} stopped for "
          f"some seconds; {len(out['steps'])} steps, at most {out['gap']:.1f} s between two; ledger {out.get('ledger')}\n\n{table(rows)}")
    return fault_fleet.verdict(problems, out["logs"])


if __name__ == "__main__":
    sys.exit(main())
