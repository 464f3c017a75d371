// form: stdio
// tests: [{"stdin": "3\n1 2 3\n", "expected_stdout": "6"}, {"stdin": "1\n-7\n", "expected_stdout": "-7"}]
#include <iostream>
int main() {
  long n, x, sum = 0;
  std::cin >> n;
  while (n-- && std::cin >> x) sum += x;
  std::cout << sum << std::endl;
}
