// clang-format off
// form: asserts
// tests: ["int a[] = {3, 1, 2}; sort_it(a, 3); assert(a[0] == 1 && a[2] == 3);", "assert(total({{\"a\", 1}, {\"b\", 2}}) == 3)"]
#include <bits/stdc++.h>
using namespace std;
void sort_it(int* a, int n) { sort(a, a + n); }
long long total(map<string, int> m) {
  long long sum = 0;
  for (auto& [k, v] : m) sum += v;
  return sum;
}
