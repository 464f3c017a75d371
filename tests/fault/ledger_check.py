#!/usr/bin/env python3
"""Checks the account that a coordinator keeps in STATE_DIR, without its code: ledger_check.py STATE_DIR

Prints one line for each violation and exits 1; 0: there is none; 2: it cannot be read. The coordinator may run.
What it holds the rows against, for each job:
  ledger     the columns sum to what was issued, now and at each commit, and equal the rows they count
  draws      each draw that was issued has rows or is counted as compacted, never both
  batches    versions follow each other; no draw is in two of them; what is trained is in the batch that trained it
  staleness  no batch was sampled at versions older than the job allows
  rollbacks  a version that was made of an older one has no batch, and what is trained on later was issued and sampled
             after it
  canaries   no version was made of one that was refused, or that is on trial
  attempts   a worker's epochs never go back, an epoch is of one worker, each attempt has a number of its own
  progress   is of samples in flight whose group is not complete
  records    a complete group that is to be trained on is in its file
"""
import bisect
import json
import os
import sqlite3
import struct
import sys

SCHEMA = 7
COLUMNS = ("in_flight", "trained", "dropped_stale", "dropped_failed", "dropped_filtered", "quarantined", "cancelled",
           "rolled_back")
VERDICTS = ("passed", "refused", "taken")
OUTCOMES = ("done", "lost", "failed", "cancelled", "hedge_lost", "unknown")  # unknown: ended under schema 1


def parse_ranges(text):
    """[(first, last)] of "0-3,7"."""
    ranges = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        ranges.append((int(first), int(last or first)))
    return ranges


def overlaps(ranges):
    """Pairs of neighbours, in order, that have a number in common."""
    ordered = sorted(ranges)
    return [(a, b) for a, b in zip(ordered, ordered[1:]) if b[0] <= a[1]]


class Job:
    """The rows of one job, and the checks over them."""

    def __init__(self, db, state, row, report):
        self.db, self.state, self.report = db, state, report
        self.name, self.version, self.next_draw, self.ended = row["job"], row["version"], row["next_draw"], row["ended"]
        spec = json.loads(row["spec"])
        self.bound = spec.get("staleness", {}).get("max_versions", 0)
        self.per_step = spec.get("batch", {}).get("groups_per_step", 1)
        self.deterministic = spec.get("deterministic", False)
        self.replay = spec.get("replay", {}).get("job", "") != ""  # its draws have the numbers of another job
        self.batches = self.rows("SELECT * FROM batches WHERE job = ? ORDER BY version")
        self.draws_of = {b["version"]: parse_ranges(b["draws"]) for b in self.batches}
        self.listed = {}  # version -> draws, in order; of batches whose rows are kept
        for r in self.rows("SELECT version, draw FROM batch_draws WHERE job = ? ORDER BY version, place"):
            self.listed.setdefault(r["version"], []).append(r["draw"])
        self.rollbacks = self.rows("SELECT * FROM rollbacks WHERE job = ? ORDER BY version")
        self.canary = spec.get("evaluation", {}).get("canary", {}).get("prompts", 0) > 0 and not self.replay
        self.groups = {r["draw"]: r for r in self.rows("SELECT * FROM groups WHERE job = ?")}

    def rows(self, sql, *values):
        return self.db.execute(sql, (self.name, *values)).fetchall()

    def wrong(self, text):
        self.report(f"job {self.name}: {text}")

    def check(self):
        self.check_ledger()
        self.check_draws()
        self.check_batches()
        self.check_trained()
        self.check_staleness()
        self.check_rollbacks()
        self.check_canaries()
        self.check_attempts()
        self.check_progress()
        self.check_records()

    def check_sum(self, counts, when):
        issued = counts.get("issued", 0)
        total = sum(n for name, n in counts.items() if name != "issued")
        if issued != total:
            self.wrong(f"{when}: issued is {issued}, the columns sum to {total}")
        for name, n in counts.items():
            if name != "issued" and name not in COLUMNS:
                self.wrong(f"{when}: no column is called {name}")
            if n < 0:
                self.wrong(f"{when}: {name} is {n}")

    def check_ledger(self):
        counts = {r["name"]: r["samples"] for r in self.rows("SELECT name, samples FROM ledger WHERE job = ?")}
        self.check_sum(counts, "ledger")
        found = {}
        for sql in ("SELECT ledger AS name, COUNT(*) AS n FROM samples WHERE job = ? GROUP BY 1",
                    "SELECT name, SUM(samples) AS n FROM compacted_samples WHERE job = ? GROUP BY 1"):
            for r in self.rows(sql):
                found[r["name"]] = found.get(r["name"], 0) + r["n"]
        for name in sorted({*counts, *found} - {"issued"}):
            if counts.get(name, 0) != found.get(name, 0):
                self.wrong(f"ledger: {name} is {counts.get(name, 0)}, there are {found.get(name, 0)} samples")
        trained = None
        for b in self.batches:
            if not b["ledger"]:
                trained = None
                continue
            at_commit = {name: int(n) for name, n in (item.split("=") for item in b["ledger"].split())}
            self.check_sum(at_commit, f"ledger at version {b['version']}")
            if trained is not None and at_commit.get("trained", 0) - trained != b["trained"]:
                self.wrong(f"ledger at version {b['version']}: trained grew by {at_commit.get('trained', 0) - trained}, "
                           f"the batch has {b['trained']}")
            trained = at_commit.get("trained", 0)

    def check_draws(self):
        compacted = [(r["first"], r["last"]) for r in
                     self.rows("SELECT first, last FROM compacted_draws WHERE job = ? ORDER BY first")]
        for a, b in overlaps(compacted):
            self.wrong(f"draws {a[0]}-{a[1]} and {b[0]}-{b[1]} are compacted twice")
        firsts = [first for first, _ in compacted]
        for draw in sorted(self.groups):
            at = bisect.bisect_right(firsts, draw) - 1
            if at >= 0 and draw <= compacted[at][1]:
                self.wrong(f"draw {draw} has rows and is compacted")
        seen = sum(last - first + 1 for first, last in compacted) + len(self.groups)
        if seen != self.next_draw:
            self.wrong(f"{self.next_draw} draws were issued, {seen} are accounted for")
        for draw in self.groups:
            if not self.replay and not 0 <= draw < self.next_draw:
                self.wrong(f"draw {draw} was not issued: the next one is {self.next_draw}")
        indices = {}
        for r in self.rows("SELECT draw, idx, ledger, step FROM samples WHERE job = ? ORDER BY draw, idx"):
            indices.setdefault(r["draw"], []).append(r["idx"])
            if r["ledger"] not in COLUMNS:
                self.wrong(f"sample {r['draw']}/{r['idx']} is in no column: {r['ledger']}")
        for draw, found in indices.items():
            if draw not in self.groups:
                self.wrong(f"draw {draw} has samples and no group")
            if found != list(range(len(found))):
                self.wrong(f"draw {draw} has the samples {found}")
        for draw in sorted(self.groups.keys() - indices.keys()):
            self.wrong(f"draw {draw} has a group and no samples")

    def check_batches(self):
        committed = [b["version"] for b in self.batches if b["committed"]]
        if committed and committed != list(range(committed[0], self.version + 1)):
            self.wrong(f"batches are committed for versions {committed}, the job has version {self.version}")
        if not committed and self.version >= 0:
            self.wrong(f"no batch is committed, the job has version {self.version}")
        for b in self.batches:
            if not b["committed"] and b["version"] != self.version + 1:
                self.wrong(f"a batch is recorded for version {b['version']}, the job has version {self.version}")
            if b["committed"] and b["version"] > 0 and not b["manifest_hash"]:
                self.wrong(f"version {b['version']} has no manifest")
        every = []
        for b in self.batches:
            v, listed = b["version"], self.listed.get(b["version"])
            ranges = self.draws_of[v] if b["committed"] else [(d, d) for d in listed or []]
            every += [(first, last) for first, last in ranges]
            if b["committed"] and listed is not None:
                named = sorted(d for first, last in ranges for d in range(first, last + 1))
                if named != sorted(listed):
                    self.wrong(f"version {v} was trained on draws {b['draws']}, its batch has {sorted(listed)}")
            if not self.replay and any(last >= self.next_draw for _, last in ranges):
                self.wrong(f"the batch of version {v} has a draw that was not issued")
            if self.deterministic and v > 0:
                fork, first_draw = self.fork_before(v)
                begin = first_draw + (v - 1 - fork) * self.per_step
                expected = [] if v == fork else list(range(begin, begin + self.per_step))
                named = sorted(d for first, last in ranges for d in range(first, last + 1))
                if named != expected:
                    self.wrong(f"version {v} of a deterministic job has draws {named}")
        for a, b in overlaps(every):
            self.wrong(f"draw {b[0]} is in two batches")
        for version in self.listed.keys() - self.draws_of.keys():
            self.wrong(f"version {version} has draws and no batch")

    def check_trained(self):
        trained = {}
        for r in self.rows("SELECT draw, idx, ledger, step FROM samples WHERE job = ?"):
            name = f"sample {r['draw']}/{r['idx']}"
            if r["ledger"] == "trained":
                trained[r["step"]] = trained.get(r["step"], 0) + 1
                ranges = self.draws_of.get(r["step"], [])
                if not any(first <= r["draw"] <= last for first, last in ranges):
                    self.wrong(f"{name} was trained by version {r['step']}, which is not in its batch")
            elif r["step"] is not None:
                self.wrong(f"{name} is {r['ledger']} and was trained by version {r['step']}")
        in_flight = {r["draw"] for r in
                     self.rows("SELECT DISTINCT draw FROM samples WHERE job = ? AND ledger = 'in_flight'")}
        for b in self.batches:
            if not b["committed"]:
                continue
            ranges = self.draws_of[b["version"]]
            kept = all(d in self.groups for first, last in ranges for d in range(first, last + 1))
            if kept and trained.get(b["version"], 0) != b["trained"]:
                self.wrong(f"version {b['version']} trained on {b['trained']} samples, "
                           f"{trained.get(b['version'], 0)} are marked so")
            for draw in sorted(d for d in in_flight if any(first <= d <= last for first, last in ranges)):
                self.wrong(f"draw {draw} is in flight, and version {b['version']} was trained on it")
        counted = sum(r["samples"] for r in
                      self.rows("SELECT samples FROM ledger WHERE job = ? AND name = 'trained'"))
        in_batches = sum(b["trained"] for b in self.batches)
        if counted != in_batches:
            self.wrong(f"{counted} samples are trained, the batches have {in_batches}")

    def check_staleness(self):
        for b in self.batches:
            if not b["committed"] or b["oldest"] is None:
                continue
            before = b["version"] - 1
            least = max(before - self.bound, self.fork_before(b["version"])[0])
            if not least <= b["oldest"] <= before:
                self.wrong(f"version {b['version']} was trained on samples of version {b['oldest']}; "
                           f"{least} to {before} are allowed")
            oldest = [self.groups[d]["oldest"] for first, last in self.draws_of[b["version"]]
                      for d in range(first, last + 1) if d in self.groups and self.groups[d]["oldest"] is not None]
            if oldest and min(oldest) < b["oldest"]:
                self.wrong(f"version {b['version']} has a group of version {min(oldest)}, "
                           f"its batch says {b['oldest']}")

    def fork_before(self, version):
        """The last version up to this one that was made of an older one, and the first draw after it; (0, 0): none was."""
        forks = [(r["version"], r["first_draw"]) for r in self.rollbacks if r["version"] <= version]
        return forks[-1] if forks else (0, 0)

    def check_rollbacks(self):
        known = {b["version"] for b in self.batches}
        for before, r in zip([None, *self.rollbacks], self.rollbacks):
            name = f"version {r['version']} goes back to version {r['parent']}"
            if r["version"] not in known:
                self.wrong(f"there is no batch for the rollback of version {r['version']}")
            elif self.draws_of[r["version"]] or self.listed.get(r["version"]):
                self.wrong(f"{name} and has a batch")
            if not 0 <= r["parent"] < r["version"] - 1:
                self.wrong(name)
            if before is not None and r["parent"] < before["version"]:
                self.wrong(f"{name}, behind version {before['version']}")
        for b in self.batches:
            fork, first_draw = self.fork_before(b["version"])
            ranges = self.draws_of[b["version"]] + [(d, d) for d in self.listed.get(b["version"], [])]
            for draw in sorted({first for first, _ in ranges if first < first_draw}):
                self.wrong(f"version {b['version']}: draw {draw} is from before the rollback of version {fork}")

    def check_canaries(self):
        verdicts = {r["version"]: r["verdict"] for r in self.rows("SELECT * FROM canaries WHERE job = ?")}
        made = {r["version"] for r in self.rollbacks}
        for version, verdict in sorted(verdicts.items()):
            if verdict not in VERDICTS or not self.canary or version > self.version or version in made:
                self.wrong(f"the canary of version {version} {verdict}")
        for version in (b["version"] for b in self.batches if self.canary and b["version"] > 0):
            verdict = verdicts.get(version - 1, "has no verdict")
            if version not in made and version - 1 not in made and verdict not in ("passed", "taken"):
                self.wrong(f"version {version} is made of version {version - 1}, whose canary {verdict}")

    def check_attempts(self):
        numbers = set()
        for r in self.rows("SELECT * FROM attempts WHERE job = ? ORDER BY seq"):
            name = f"attempt {r['number']} of draw {r['draw']}"
            if r["draw"] not in self.groups:
                self.wrong(f"{name} is of no group")
            if r["outcome"] is not None and r["outcome"] not in OUTCOMES:
                self.wrong(f"{name} ended as {r['outcome']}")
            if (r["ended"] is None) != (r["outcome"] is None):
                self.wrong(f"{name} has ended {r['ended']} and outcome {r['outcome']}")
            if self.ended is not None and r["ended"] is None:
                self.wrong(f"{name} is under way, and the job has ended")
            if r["epoch"] is None:
                continue  # begun under schema 1, which gave numbers again
            if (r["draw"], r["number"]) in numbers:
                self.wrong(f"{name} is there twice")
            numbers.add((r["draw"], r["number"]))

    def check_progress(self):
        for r in self.rows("SELECT p.draw, p.idx, s.ledger, g.segment FROM progress p "
                           "LEFT JOIN samples s ON s.job = p.job AND s.draw = p.draw AND s.idx = p.idx "
                           "LEFT JOIN groups g ON g.job = p.job AND g.draw = p.draw WHERE p.job = ?"):
            if r["ledger"] != "in_flight":
                self.wrong(f"progress of sample {r['draw']}/{r['idx']}, which is {r['ledger']}")
            if r["segment"] is not None:
                self.wrong(f"progress of sample {r['draw']}/{r['idx']}, whose group is complete")

    def check_records(self):
        if self.ended is not None:
            return
        for r in self.rows("SELECT DISTINCT g.draw, g.segment, g.offset, g.bytes FROM groups g JOIN samples s "
                           "ON s.job = g.job AND s.draw = g.draw "
                           "WHERE g.job = ? AND g.segment IS NOT NULL AND s.ledger = 'in_flight'"):
            path = os.path.join(self.state, "segments", f"{r['segment']:08d}.seg")
            try:
                with open(path, "rb") as file:
                    file.seek(r["offset"])
                    header, payload = file.read(8), file.read(r["bytes"])
            except OSError as error:
                self.wrong(f"the record of draw {r['draw']}: {error}")
                continue
            if len(header) < 8 or struct.unpack("<I", header[:4])[0] != r["bytes"] or len(payload) != r["bytes"]:
                self.wrong(f"the record of draw {r['draw']} at {r['offset']} of {path} is not whole")


def check_epochs(db, report):
    """A worker's name keeps its epochs over jobs, so these are checked over all of them."""
    last, owner = {}, {}
    reserved = db.execute("SELECT value FROM meta WHERE key = 'epochs_reserved'").fetchone()
    for r in db.execute("SELECT job, draw, number, worker, epoch FROM attempts WHERE epoch IS NOT NULL ORDER BY seq"):
        name = f"job {r['job']}: attempt {r['number']} of draw {r['draw']}"
        if r["epoch"] < last.get(r["worker"], 0):
            report(f"{name}: the epoch of {r['worker']} went back from {last[r['worker']]} to {r['epoch']}")
        last[r["worker"]] = r["epoch"]
        if owner.setdefault(r["epoch"], r["worker"]) != r["worker"]:
            report(f"{name}: {r['worker']} and {owner[r['epoch']]} both have epoch {r['epoch']}")
        if reserved is None or r["epoch"] >= reserved[0]:
            report(f"{name}: epoch {r['epoch']} was not reserved")


def check(state):
    """The violations, as lines."""
    lines = []
    path = os.path.join(state, "sluice.db")
    if not os.path.exists(path):
        raise sqlite3.Error(f"{path} is missing")
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
    try:
        db.row_factory = sqlite3.Row
        db.execute("BEGIN")  # all of it as of one commit
        version = db.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        if version is None or version[0] != SCHEMA:
            raise sqlite3.Error(f"{path} has schema version {version and version[0]}, this checks {SCHEMA}")
        for row in db.execute("PRAGMA integrity_check"):
            if row[0] != "ok":
                lines.append(f"sluice.db: {row[0]}")
        jobs = db.execute("SELECT * FROM jobs ORDER BY seq").fetchall()
        for row in jobs:
            Job(db, state, row, lines.append).check()
        known = {row["job"] for row in jobs}
        left = {row["job"] for row in db.execute("SELECT job FROM deleted_jobs WHERE NOT gone")}
        lines.extend(f"job {name} is deleted and there" for name in sorted(known & left))
        known |= left
        for table in ("groups", "samples", "ledger", "attempts", "batches", "batch_draws", "progress", "rollbacks",
                      "compacted_draws", "compacted_samples", "quarantine", "replay_steps", "canaries"):
            for r in db.execute(f"SELECT DISTINCT job FROM {table}"):
                if r["job"] not in known:
                    lines.append(f"{table} has rows of job {r['job']}, which there is not")
        check_epochs(db, lines.append)
    finally:
        db.close()
    return lines


def main():
    if len(sys.argv) != 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        sys.exit(2)
    try:
        lines = check(sys.argv[1])
    except (sqlite3.Error, OSError, ValueError) as error:
        print(f"ledger_check: {error}", file=sys.stderr)
        sys.exit(2)
    for line in lines:
        print(line)
    sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()
