// clang-format off
// form: function
// tests: {"entry_point": "longest", "cases": [{"args": ["abcabcbb"], "expected": 3}, {"args": [""], "expected": 0}, {"args": ["au"], "expected": 2}]}
#include <string>
#include <unordered_map>
int longest(const std::string& s) {
  std::unordered_map<char, int> last;
  int best = 0, from = 0;
  for (int i = 0; i < static_cast<int>(s.size()); i++) {
    if (last.count(s[i]) && last[s[i]] >= from) from = last[s[i]] + 1;
    last[s[i]] = i;
    if (i - from + 1 > best) best = i - from + 1;
  }
  return best;
}
