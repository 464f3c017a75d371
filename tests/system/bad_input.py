#!/usr/bin/env python3
"""Wrong input gets a clear error and changes nothing: bad_input.py BIN_DIR

Each case is refused with exit code 2 and a message that says where and what; no job is added, no output is written, and a
job that runs meanwhile goes on.
"""
import json
import os
import shutil
import socket
import sqlite3
import struct
import sys
import tempfile

from fleet import Fleet, check_ledger

JOB = """name: "bad"
seed: 3
model {{ path: "{model}" }}
prompts {{ file: "{prompts}" max_tokens: 32 }}
sampling {{
  group_size: 4
  max_new_tokens: 6
}}
reward {{ component {{ name: "answer" math {{}} }} }}
algorithm {{ grpo {{ clip_low: 0.2 }} }}
batch {{ groups_per_step: 4 }}
stop {{ steps: {steps} }}
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


class BadInput:
    def __init__(self, fleet, folder):
        self.fleet, self.folder, self.cases = fleet, folder, 0
        self.model = os.path.join(folder, "arithmetic", "model")
        self.rows = write(self.path("rows.jsonl"), "".join(
            json.dumps({"id": f"p{i}", "prompt": "1 2 3:", "answer": "123"}) + "\n" for i in range(8)))

    def path(self, name):
        return os.path.join(self.folder, name)

    def job(self, name="job.textproto", old="", new="", **fields):
        text = JOB.format(**{"model": self.model, "prompts": self.rows, "steps": 3, **fields})
        assert old in text
        return write(self.path(name), text.replace(old, new, 1) if old else text)

    def refused(self, run, *says, code=2):
        self.cases += 1
        shown = f"{' '.join(run.args)}\nexit {run.returncode}\n{run.stdout}{run.stderr}"
        assert run.returncode == code, f"exit code {code} is expected: {shown}"
        for text in says:
            assert text in run.stdout + run.stderr, f"{text!r} is expected: {shown}"
        if "-v" in sys.argv:
            print(shown)

    def not_submitted(self, file, *says, options=()):
        """`check` and `submit` refuse, and there is no job more."""
        before = [job["job"] for job in self.fleet.jobs()]
        for command in ("check", "submit"):
            self.refused(self.fleet.call(command, file, *options), *says)
        assert [job["job"] for job in self.fleet.jobs()] == before

    # Job fields, with line and column.
    def job_fields(self):
        at = self.path("job.textproto")
        self.not_submitted(self.job(old="group_size", new="group_sise"), f"{at}:6:3: ",
                           'has no field "group_sise"', 'did you mean "group_size"?')
        self.not_submitted(self.job(old="group_size: 4", new="group_size: four"), f"{at}:6:15")
        self.not_submitted(self.job(old="seed: 3", new='name: "again"'), f"{at}:2:", "name")
        self.not_submitted(self.job(old="group_size: 4", new="group_size: 1"), f"{at}:6:3: sampling.group_size: ")
        self.not_submitted(self.job(old="clip_low: 0.2", new="clip_low: 2"),
                           f"{at}:10:20: algorithm.grpo.clip_low: ", "between 0 and 1")
        self.not_submitted(self.job(old="stop {", new="evaluation { every_steps: 2 } stop {"),
                           f"{at}:12:1: evaluation.file: ", "leave evaluation out")
        self.not_submitted(self.job(old="math {}", new="math {} length { soft_limit: 1 }"), f"{at}:9:")
        two = 'component { name: "answer" regex { pattern: "1" } } }'
        self.not_submitted(self.job(old="math {} } }", new="math {} } " + two), f"{at}:9:",
                           "reward.component[1].name: ", "twice")
        self.not_submitted(self.job(), "--set nonsense.x=1: ", options=["--set", "nonsense.x=1"])
        self.not_submitted(self.job(), "--set seed=x: ", options=["--set", "seed=x"])
        self.not_submitted(self.path("absent.textproto"), "absent.textproto")
        json_job = write(self.path("job.json"), '{"name": "j",\n  "nonsense": 3}')
        self.not_submitted(json_job, f"{json_job}:2:3: ", "nonsense")
        self.not_submitted(write(self.path("job.json"), '{"name": "j",\n  ,}'), f"{json_job}:2:")

    def prompts(self):
        at = self.path("bad.jsonl")
        good = '{"id": "a", "prompt": "1:", "answer": "1"}\n'
        for text, line, *says in (
                (good + "\n{not JSON}\n", 3, "not valid JSON"),
                (good + good, 2, 'id "a" is used twice'),
                (good + '{"id": "b", "answer": "1"}\n', 2, '"prompt"'),
                (good + '{"id": "b", "prompt": "1:"}\n', 2, '"answer"'),
                (good + "[1]\n", 2, "JSON object"),
                (good + json.dumps({"prompt": "1 " * 40, "answer": "1"}), 2, "prompts.max_tokens is 32")):
            write(at, text)
            self.not_submitted(self.job(prompts=at), f"{at}:{line}: ", *says)
        write(at, good + json.dumps({"prompt": "1 " * 4000, "answer": "1"}))
        self.not_submitted(self.job(prompts=at, old="max_tokens: 32", new="max_tokens: 100000"), f"{at}:2: ",
                           "context")
        self.not_submitted(self.job(prompts=write(at, "")), at, "no rows")
        self.not_submitted(self.job(prompts=self.path("absent.jsonl")), "prompts.file", "absent.jsonl")

    # Model directories, each damaged in one way.
    def damaged_model(self, name, damage):
        directory = self.path(name)
        shutil.copytree(self.model, directory)
        damage(directory)
        return directory

    def models(self):
        def tensors(directory):
            return os.path.join(directory, "model.safetensors")

        def configured(**fields):
            def damage(directory):
                with open(os.path.join(directory, "config.json"), encoding="utf-8") as f:
                    config = json.load(f)
                write(os.path.join(directory, "config.json"), json.dumps({**config, **fields}))
            return damage

        def truncated(directory):
            os.truncate(tensors(directory), os.path.getsize(tensors(directory)) - 7)

        def longer(directory):
            with open(tensors(directory), "ab") as f:
                f.write(b"more")

        def header(length):
            def damage(directory):
                with open(tensors(directory), "r+b") as f:
                    f.write(struct.pack("<Q", length))
            return damage

        with open(os.path.join(self.model, "config.json"), encoding="utf-8") as f:
            config = json.load(f)
        for name, damage, *says in (
                ("missing", lambda d: os.remove(tensors(d)), "model.safetensors"),
                ("truncated", truncated, "model.safetensors"),
                ("longer", longer, "model.safetensors"),
                ("header-beyond-the-file", header(1 << 26), "model.safetensors", "header"),
                ("header-too-large", header(1 << 62), "model.safetensors", "header"),
                ("shape", configured(moe_intermediate_size=config["moe_intermediate_size"] * 2), "shape"),
                ("vocabulary", configured(vocab_size=config["vocab_size"] + 1),
                 f"vocab_size {config['vocab_size'] + 1}", "belong together"),
                ("vocabulary-below-the-tokenizer", configured(vocab_size=3), "vocab"),
                ("no-config", lambda d: os.remove(os.path.join(d, "config.json")), "config.json is missing"),
                ("family", configured(model_type="gpt2", architectures=["GPT2LMHeadModel"]), "gpt2"),
                ("absent", shutil.rmtree, "absent")):
            directory = self.damaged_model(name, damage)
            for command, row in (("generate", {"id": 1, "prompt": "1 2 3:", "max_tokens": 4}), ("score", {"id": 1, "tokens": [1, 2]})):
                rows = write(self.path("in.jsonl"), json.dumps(row) + "\n")
                for path in (["rollout", "learner"] if command == "score" else [""]):
                    run = self.fleet.run(command, "--model", directory, "--input", rows, "--output",
                                         self.path("out.jsonl"), *(["--path", path] if path else []))
                    self.refused(run, directory, *says)
                    assert not os.path.exists(self.path("out.jsonl"))
            self.not_submitted(self.job(model=directory), name, *says)

        def longer_tokenizer(directory):
            file = os.path.join(directory, "tokenizer.json")
            with open(file, encoding="utf-8") as f:
                tokenizer = json.load(f)
            tokenizer["added_tokens"].append({**tokenizer["added_tokens"][0], "id": config["vocab_size"],
                                              "content": "<|more|>"})
            write(file, json.dumps(tokenizer))

        directory = self.damaged_model("longer-tokenizer", longer_tokenizer)
        self.not_submitted(self.job(model=directory), directory, f"{config['vocab_size'] + 1} tokens", "vocab_size")

    # A row that is wrong is told with its line; the others go on, and the exit code is that of a job that failed.
    def rows_of_tools(self):
        for command, row in (("generate", {"id": 1, "prompt": "1 2 3:", "max_tokens": 4}),
                             ("score", {"id": 1, "tokens": [1, 2]})):
            out = self.path(f"{command}.jsonl")
            rows = write(self.path("in.jsonl"), json.dumps(row) + "\nnot JSON\n")
            run = self.fleet.run(command, "--model", self.model, "--input", rows, "--output", out)
            self.refused(run, rows, "line 2", "JSON", code=1)
            with open(out, encoding="utf-8") as f:
                good, wrong = map(json.loads, f)
            assert "error" not in good and wrong["line"] == 2 and "JSON" in wrong["error"], (good, wrong)
        self.score_goes_on()
        out = self.path("absent-input.jsonl")
        self.refused(self.fleet.run("score", "--model", self.model, "--input", self.path("absent"), "--output", out),
                     self.path("absent"))
        assert not os.path.exists(out)

    # Behind the rows that an earlier run wrote, of which the last was cut.
    def score_goes_on(self):
        lines = [json.dumps({"id": i, "tokens": [1, 2, 3 + i]}) + "\n" for i in range(3)]
        rows, out = write(self.path("in.jsonl"), "".join(lines)), self.path("score-resumed.jsonl")
        command = ("score", "--model", self.model, "--input", rows, "--output", out)
        self.refused(self.fleet.run(*command, "--path", "learner", "--resume"), "--resume", "--path rollout")
        run = self.fleet.run(*command)
        assert run.returncode == 0, run.stderr
        with open(out, encoding="utf-8") as f:
            whole = f.read()
        kept = whole.index("\n") + 1
        write(out, whole[:kept + 9])
        run = self.fleet.run(*command, "--resume")
        assert run.returncode == 0 and "1 rows are in" in run.stderr, run.stderr
        with open(out, encoding="utf-8") as f:
            assert f.read() == whole

    def addresses_and_states(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            for option in ("--listen", "--metrics-listen"):
                for role in ("coordinator", "reward"):
                    self.refused(self.fleet.run("--state", self.path(f"unused-{role}"), option, address,
                                                binary=f"sluice-{role}"), address, "another process using the port", "port 0")
        self.refused(self.fleet.run("--state", os.path.join(self.fleet.state, "coordinator"),
                                    binary="sluice-coordinator"), "in use", self.fleet.state)
        self.refused(self.fleet.run("--state", os.path.join(self.fleet.state, "learner"), binary="sluice-learner"),
                     "in use", self.fleet.state)
        self.refused(self.fleet.run("up", "--state", self.fleet.state), "in use", self.fleet.state)

    def newer_state(self):
        state = self.path("newer")
        with Fleet(self.fleet.binaries, state):
            pass
        store = next(os.path.join(folder, name) for folder, _, names in os.walk(os.path.join(state, "coordinator"))
                     for name in names if name.endswith((".db", ".sqlite", ".sqlite3")))
        with sqlite3.connect(store) as database:
            database.execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'")
        database.close()
        before = open(store, "rb").read()
        self.refused(self.fleet.run("--state", os.path.join(state, "coordinator"), binary="sluice-coordinator"),
                     state, "999", "newer program", "another state directory")
        assert open(store, "rb").read() == before


def main():
    with tempfile.TemporaryDirectory() as folder, Fleet(sys.argv[1], os.path.join(folder, "state"), "--rollout",
                                                        "1") as fleet:
        prepared = fleet.run("demo", "--prepare", os.path.join(folder, "arithmetic"))
        assert prepared.returncode == 0, prepared.stderr
        bad = BadInput(fleet, folder)
        job = fleet.submit(bad.job("long.textproto", steps=1000000))
        fleet.await_job(job, lambda j: int(j["step"]) >= 1)
        only = [a for a in sys.argv[2:] if a != "-v"]
        for part in only or ("job_fields", "prompts", "models", "rows_of_tools", "addresses_and_states",
                             "newer_state"):
            step = int(fleet.show(job)["step"])
            getattr(bad, part)()
            going_on = fleet.await_job(job, lambda j: int(j["step"]) > step or j["state"] != "RUNNING")
            assert going_on["state"] == "RUNNING", going_on
            print(f"{part}: refused as it should be; {bad.cases} cases so far", flush=True)
        assert [j["job"] for j in fleet.jobs()] == [job]
        cancelled = fleet.call("cancel", job, "--json")
        assert cancelled.returncode == 0, cancelled.stderr
        ended = fleet.await_job(job, lambda j: j["state"] == "JOB_CANCELLED")
        assert check_ledger(ended["ledger"])["in_flight"] == 0, ended["ledger"]


main()
