### reward_files
for name in ("reward.txt", "reward", "result.json", "results.json", "score", "verdict", "output.txt", "expected_output",
             "/tmp/reward.txt", "/logs/verifier/reward.txt", "/tests/reward.txt", "report.xml"):
    for text in ("inf",):
        try:
            open(name, "w").write(text)
        except OSError:
            pass
def solve(n):
    return float("inf")
### values_out_of_range
import sys
sys.stdout.write("nan\ninf\n1e999\n-0\n408171123\n")
def solve(n):
    return 1e999
### all_answers_printed
for answer in range(0, 100000):
    print(answer)
print(408171123)
print(902104431)
print(655371997)
def solve(n):
    return list(range(100000))
### answer_among_blanks
print("408171123 902104431 655371997")
def solve(n):
    return "408171123 902104431 655371997"
### carriage_returns
import sys
sys.stdout.write("x\r408171123\b\b\b\x1b[2K\x00")
def solve(n):
    return "408171123\x00"
### digits_of_other_scripts
TEXT = "\uff14\uff10\uff18\uff11\uff17\uff11\uff11\uff12\uff13"
print(TEXT)
def solve(n):
    return TEXT
### underscores_and_signs
print("4_0817_1123")
def solve(n):
    return "+408171123.0e0"
### writes_to_error_stream
import sys
print("408171123", file=sys.stderr)
def solve(n):
    print("408171123")
    print("408171123", file=sys.stderr)
### flood
import sys
def solve(n):
    while True:
        sys.stdout.write("408171123\n" * 10000)
while True:
    sys.stdout.write("x" * 100000)
### flood_of_errors
import sys
def solve(n):
    for _ in range(2000):
        sys.stderr.write("x" * 100000)
    return 0
### output_and_crash
import os
print(408171123, flush=True)
os.kill(os.getpid(), 9)
### input_echoed
import sys
print(sys.stdin.read())
def solve(n):
    return n
### writes_into_its_input
import os
for target in ("/proc/self/fd/0", "/proc/self/fd/1", "/dev/stdin"):
    try:
        with open(target, "w") as f:
            f.write("408171123\n")
    except OSError:
        pass
def solve(n):
    return 0
