// form: stdio
// tests: [{"stdin": "100000\n", "expected_stdout": "5000050000"}]
#include <cstdio>
long Sum(long n) {
  volatile long keep = n;
  return n == 0 ? 0 : keep + Sum(n - 1);
}
int main() {
  long n;
  if (scanf("%ld", &n) == 1) printf("%ld\n", Sum(n));
}
