// form: stdio
// tests: [{"stdin": "1000000\n", "expected_stdout": "78498"}]
#include <bits/stdc++.h>
static bool composite[20000001];
static long long big[8000000];
int main() {
  int n, count = 0;
  if (scanf("%d", &n) != 1) return 1;
  for (long i = 2; i <= n; i++) {
    if (composite[i]) continue;
    count++;
    for (long j = i * i; j <= n; j += i) composite[j] = true;
  }
  big[7999999] = count;
  printf("%lld\n", big[7999999]);
}
