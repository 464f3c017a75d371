// form: stdio
// tests: [{"stdin": "3 1 2\n", "expected_stdout": "3 2 1"}]
#include <bits/stdc++.h>
int main() {
  std::priority_queue<int> queue;
  for (int x; std::cin >> x;) queue.push(x);
  for (; !queue.empty(); queue.pop()) std::cout << queue.top() << ' ';
}
