// form: stdio
// tests: [{"stdin": "", "expected_stdout": "caught out_of_range\ncaught 7"}]
#include <iostream>
#include <stdexcept>
#include <vector>
int main() {
  try {
    std::vector<int>().at(3);
  } catch (const std::out_of_range&) {
    std::cout << "caught out_of_range\n";
  }
  try {
    throw 7;
  } catch (int x) {
    std::cout << "caught " << x << "\n";
  }
}
