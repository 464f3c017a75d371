// form: stdio
// tests: [{"stdin": "5\nb a c a b\n", "expected_stdout": "a 2\nb 2\nc 1\n"}]
#include <bits/stdc++.h>
using namespace std;
int main() {
  ios::sync_with_stdio(false);
  cin.tie(nullptr);
  int n;
  cin >> n;
  map<string, int> counts;
  for (string s; n-- && cin >> s;) counts[s]++;
  for (auto& [word, count] : counts) cout << word << ' ' << count << '\n';
}
