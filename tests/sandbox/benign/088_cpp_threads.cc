// form: stdio
// tests: [{"stdin": "", "expected_stdout": "4000"}]
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>
int main() {
  std::atomic<int> total{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; j++) total++;
    });
  for (auto& t : threads) t.join();
  printf("%d\n", total.load());
}
