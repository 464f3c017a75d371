// form: stdio
// tests: [{"stdin": "", "expected_stdout": "6 none 2"}]
#include <iostream>
#include <optional>
#include <string_view>
#include <variant>
template <typename... T>
auto Sum(T... xs) {
  return (xs + ...);
}
int main() {
  std::optional<int> empty;
  std::variant<int, double> v = 2;
  std::string_view none = "none";
  std::cout << Sum(1, 2, 3) << ' ' << (empty ? "some" : none) << ' ' << std::get<int>(v) << '\n';
}
