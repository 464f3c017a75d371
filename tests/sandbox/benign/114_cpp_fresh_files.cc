// form: stdio
// tests: [{"stdin": "1\n", "expected_stdout": "1"}, {"stdin": "2\n", "expected_stdout": "2"}]
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>

int main(int, char** argv) {
  int number = 0;
  if (std::scanf("%d", &number) != 1 || std::filesystem::exists("/dev/shm/number")) return 1;
  std::FILE* file = std::fopen("/dev/shm/number", "wx");
  if (file == nullptr) return 2;
  std::fprintf(file, "%d", number);
  std::fclose(file);
  if (chmod(argv[0], 0600) != 0) return 3;  // of its own program, which the next test runs all the same
  std::printf("%d\n", number);
}
