// form: stdio
// tests: [{"stdin": "", "expected_stdout": "ok"}]
#include <chrono>
#include <iostream>
#include <random>
#include <thread>
int main() {
  auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::mt19937 engine(std::random_device{}());
  std::uniform_int_distribution<int> die(1, 6);
  int roll = die(engine);
  std::cout << (roll >= 1 && roll <= 6 && std::chrono::steady_clock::now() > start ? "ok" : "bad") << '\n';
}
