// clang-format off
// form: function
// tests: {"entry_point": "saved", "cases": [{"args": [1], "expected": 1}, {"args": [2], "expected": 2}]}
#include <cstdio>

int saved(int number) {
  std::FILE* file = std::fopen("number", "wx");
  if (file == nullptr) return -1;
  std::fprintf(file, "%d", number);
  std::fclose(file);
  return number;
}
