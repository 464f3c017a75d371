#!/usr/bin/env python3
"""The OpenAI API of a model directory, over raw HTTP: openai_endpoint.py BIN_DIR

Completions and chats, whole and streamed, say the same; wrong requests get the right status and OpenAI's error form; a
client that leaves ends its call.
"""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

LIMIT = 60
TEMPLATE = "{% for m in messages %}{{ m['content'] }} {% endfor %}{% if add_generation_prompt %}:{% endif %}"


class Server:
    """A rollout worker that serves a model and the API on ports of its own."""

    def __init__(self, binaries, model, folder):
        file = os.path.join(folder, "address.json")
        self.process = subprocess.Popen([os.path.join(binaries, "sluice-rollout"), "--model", model, "--http-port", "0",
                                         "--threads", "2", "--log-level", "warning", "--address-file", file])
        deadline = time.monotonic() + LIMIT
        while not os.path.exists(file):
            assert self.process.poll() is None and time.monotonic() < deadline, "it does not serve"
            time.sleep(0.02)
        with open(file, encoding="utf-8") as f:
            address = json.load(f)
        self.port, self.metrics_port = (int(address[name].rsplit(":", 1)[1]) for name in ("http", "metrics"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(LIMIT) == 0

    def cancelled(self):
        """Completions that were cancelled so far."""
        connection = http.client.HTTPConnection("127.0.0.1", self.metrics_port, timeout=LIMIT)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        connection.close()
        return float(re.search(r'sluice_rollouts_total\{finish_reason="cancelled"\} (\S+)', text)[1])

    def request(self, method, path, body=None, content_type="application/json"):
        """(status, headers, text)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": content_type} if data is not None else {})
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, response.headers, text

    def post(self, path, **body):
        status, _, text = self.request("POST", path, body)
        assert status == 200, text
        return json.loads(text)

    def events(self, path, **body):
        status, headers, text = self.request("POST", path, {**body, "stream": True})
        assert status == 200 and headers["Content-Type"] == "text/event-stream", text
        data = [block.removeprefix("data: ") for block in text.split("\n\n") if block]
        assert data[-1] == "[DONE]", data[-1]
        return [json.loads(d) for d in data[:-1]]


def completions(server):
    answer = server.post("/v1/completions", prompt="1 2 3:", max_tokens=6, seed=4, logprobs=2, n=2, ignore_eos=True)
    assert answer["object"] == "text_completion" and answer["model"] == "local@0"
    assert [c["index"] for c in answer["choices"]] == [0, 1]
    assert answer["usage"]["completion_tokens"] == 12
    for choice in answer["choices"]:
        assert choice["finish_reason"] == "length"
        logprobs = choice["logprobs"]
        assert len(logprobs["tokens"]) == len(logprobs["token_logprobs"]) == 6
        assert all(value <= 1e-3 for value in logprobs["token_logprobs"])
        assert all(1 <= len(top) <= 2 for top in logprobs["top_logprobs"])
    again = server.post("/v1/completions", prompt="1 2 3:", max_tokens=6, seed=4, logprobs=2, n=2, ignore_eos=True)
    assert again["choices"] == answer["choices"], "the same seed gives the same completions"
    greedy = [server.post("/v1/completions", prompt="1 2 3:", max_tokens=6, temperature=0, seed=s)["choices"]
              for s in (1, 2)]
    assert greedy[0] == greedy[1]
    several = server.post("/v1/completions", prompt=["1", "2"], max_tokens=2, temperature=0, ignore_eos=True)
    assert [c["index"] for c in several["choices"]] == [0, 1]


def streams(server):
    request = {"prompt": "3 1 2:", "max_tokens": 40, "seed": 9, "ignore_eos": True, "n": 64}
    whole = server.post("/v1/completions", **request)
    parts = server.events("/v1/completions", **request, stream_options={"include_usage": True})
    assert parts[-1]["choices"] == [] and parts[-1]["usage"] == whole["usage"]
    for choice in whole["choices"]:
        of_choice = [p["choices"][0] for p in parts[:-1] if p["choices"][0]["index"] == choice["index"]]
        assert "".join(p["text"] for p in of_choice) == choice["text"]
        assert [p["finish_reason"] for p in of_choice if p["finish_reason"]] == [choice["finish_reason"]]
    assert len(parts) > len(whole["choices"]) + 1, "completions come in parts"


def chats(server):
    request = {"messages": [{"role": "user", "content": "1 2 3"}], "max_tokens": 5, "seed": 1, "ignore_eos": True}
    whole = server.post("/v1/chat/completions", **request)
    assert whole["choices"][0]["message"]["role"] == "assistant"
    deltas = [p["choices"][0]["delta"] for p in server.events("/v1/chat/completions", **request)]
    assert deltas[0]["role"] == "assistant"
    assert "".join(d.get("content", "") for d in deltas) == whole["choices"][0]["message"]["content"]


def models(server):
    status, _, text = server.request("GET", "/v1/models")
    assert status == 200 and [m["id"] for m in json.loads(text)["data"]] == ["local", "local@0"]
    status, _, text = server.request("GET", "/health")
    assert status == 200 and json.loads(text)["status"] == "ok"


def bad_requests(server):
    complete, chat = "/v1/completions", "/v1/chat/completions"
    cases = [
        (404, "GET", "/", None, ""), (404, "GET", "/../etc/passwd", None, ""),
        (405, "GET", complete, None, "POST"), (405, "POST", "/v1/models", {}, "GET"),
        (400, "POST", complete, b"", "not JSON"), (400, "POST", complete, b"{", "not JSON"),
        (400, "POST", complete, b"\xff\xfe", "not JSON"), (400, "POST", complete, b"[" * 100000, "nested"),
        (400, "POST", complete, [], "object"), (400, "POST", complete, {}, "prompt:"),
        (400, "POST", complete, {"prompt": ""}, "prompt:"), (400, "POST", complete, {"prompt": [10**9]}, "prompt"),
        (400, "POST", complete, {"prompt": "1 " * 5000}, "context"),
        (400, "POST", complete, {"prompt": "1", "max_tokens": 10**6}, "max_tokens:"),
        (400, "POST", complete, {"prompt": "1", "temperature": -1}, "temperature:"),
        (400, "POST", complete, {"prompt": "1", "top_p": 0}, "top_p:"),
        (400, "POST", complete, {"prompt": "1", "n": 10**9}, "n:"),
        (400, "POST", complete, {"prompt": "1", "logit_bias": {"1000000": 1}}, "logit_bias"),
        (400, "POST", complete, {"prompt": "1", "echo": True}, "echo:"),
        (404, "POST", complete, {"prompt": "1", "model": "other"}, "not served"),
        (400, "POST", chat, {"messages": []}, "messages:"), (400, "POST", chat, {"messages": [{"role": "user"}]}, "content"),
        (413, "POST", complete, b" " * (9 << 20), "larger"),
    ]
    for status, method, path, body, says in cases:
        got, _, text = server.request(method, path, body)
        shown = f"{method} {path} {str(body)[:60]}: {got} {text[:300]}"
        assert got == status, shown
        error = json.loads(text)["error"]
        assert says in error["message"] and error["type"] in ("invalid_request_error", "server_error"), shown
    assert server.request("POST", complete, "{}", content_type="text/plain")[0] == 415
    raw = socket.create_connection(("127.0.0.1", server.port), LIMIT)
    raw.sendall(b"nonsense\r\n\r\n")
    raw.close()
    completions(server)  # others go on


def disconnect(server):
    """Calls of clients that left end at once, streamed or not; others go on."""
    for stream in (False, True):
        before = server.cancelled()
        body = json.dumps({"prompt": "1 2:", "max_tokens": 40, "ignore_eos": True, "n": 128, "stream": stream})
        head = ("POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n")
        clients = [socket.create_connection(("127.0.0.1", server.port), LIMIT) for _ in range(8)]
        for client in clients:
            client.sendall((head + body).encode())
        for client in clients:
            client.close()
        deadline = time.monotonic() + LIMIT
        while server.cancelled() == before:
            assert time.monotonic() < deadline, "no completion was cancelled"
            time.sleep(0.02)
        server.post("/v1/completions", prompt="1", max_tokens=1)


def serve_command(binaries, model):
    """`sluice serve` says where it serves, and Ctrl-C stops it."""
    process = subprocess.Popen([os.path.join(binaries, "sluice"), "serve", model, "--http-port", "0"],
                               stdout=subprocess.PIPE, text=True)
    found = re.match(r"http://127\.0\.0\.1:(\d+)/v1 ", process.stdout.readline())
    assert found
    connection = http.client.HTTPConnection("127.0.0.1", int(found[1]), timeout=LIMIT)
    connection.request("GET", "/health")
    assert connection.getresponse().status == 200
    connection.close()
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT) == 0
    refused = subprocess.run([os.path.join(binaries, "sluice"), "serve", "/nonexistent"], capture_output=True, text=True,
                             timeout=LIMIT)
    assert refused.returncode == 2 and "/nonexistent" in refused.stderr, refused


def chat_command(binaries, model):
    """`sluice chat` through a pipe: an answer for each line, the same again after /reset with the same seed."""
    def chat(lines):
        return subprocess.run([os.path.join(binaries, "sluice"), "chat", model, "--temperature", "0",
                               "--max-new-tokens", "8"], input=lines, capture_output=True, text=True, timeout=LIMIT)
    answered = chat("1 2 3\n/reset\n1 2 3\n/exit\nnever asked\n")
    assert answered.returncode == 0, answered.stderr
    half = len(answered.stdout) // 2
    assert answered.stdout[:half] == answered.stdout[half:], answered.stdout
    too_long = chat("1 " * 5000 + "\n")
    assert too_long.returncode == 1 and "/reset" in too_long.stderr, too_long


def write_model(binaries, folder):
    """A small model with a chat template; its directory."""
    made = subprocess.run([os.path.join(binaries, "sluice"), "demo", "--prepare", os.path.join(folder, "demo")],
                          capture_output=True, text=True, timeout=LIMIT)
    assert made.returncode == 0, made.stderr
    model = os.path.join(folder, "demo", "model")
    with open(os.path.join(model, "tokenizer_config.json"), "w", encoding="utf-8") as f:
        json.dump({"chat_template": TEMPLATE, "bos_token": "", "eos_token": ""}, f)
    return model


def main():
    binaries = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        model = write_model(binaries, folder)
        with Server(binaries, model, folder) as server:
            for test in (models, completions, streams, chats, bad_requests, disconnect):
                test(server)
                print(f"{test.__name__}: passed")
        for test in (serve_command, chat_command):
            test(binaries, model)
            print(f"{test.__name__}: passed")


if __name__ == "__main__":
    main()
