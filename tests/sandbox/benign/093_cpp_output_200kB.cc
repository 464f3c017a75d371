// form: stdio
// tests: [{"stdin": "", "expected_repeat": [20000, "0123456789"]}]
#include <cstdio>
int main() {
  for (int i = 0; i < 20000; i++) fputs("0123456789", stdout);
}
