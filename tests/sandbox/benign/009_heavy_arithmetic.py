# form: stdio
# tests: [{"stdin": "200000\n", "expected_stdout": "17984"}]
n = int(input())
sieve = bytearray([1]) * (n + 1)
sieve[0] = sieve[1] = 0
for i in range(2, int(n ** 0.5) + 1):
    if sieve[i]:
        sieve[i * i::i] = bytearray(len(sieve[i * i::i]))
print(sum(sieve))
