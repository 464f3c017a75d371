// form: stdio
// tests: [{"stdin": "", "expected_stdout": "42 43"}]
#include <cstdio>
#include <fstream>
#include <iostream>
int main() {
  std::ofstream("out.txt") << 42;
  int a = 0, b = 0;
  std::ifstream("out.txt") >> a;
  FILE* f = tmpfile();
  if (!f) return 1;
  fputs("43", f);
  rewind(f);
  if (fscanf(f, "%d", &b) != 1) return 1;
  std::cout << a << ' ' << b << '\n';
}
