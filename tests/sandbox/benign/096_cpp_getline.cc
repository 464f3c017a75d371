// form: stdio
// tests: [{"stdin": "hello world\nsecond\n", "expected_stdout": "dlrow olleh\ndnoces"}]
#include <algorithm>
#include <iostream>
#include <string>
int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::reverse(line.begin(), line.end());
    std::cout << line << '\n';
  }
}
