// clang-format off
// form: function
// comparison: unordered
// tests: {"entry_point": "subsets", "cases": [{"args": [[1, 2]], "expected": [[], [1], [1, 2], [2]]}, {"args": [[]], "expected": [[]]}]}
class Solution {
  void walk(vector<int>& nums, size_t at, vector<int>& one, vector<vector<int>>& all) {
    all.push_back(one);
    for (size_t i = at; i < nums.size(); i++) {
      one.push_back(nums[i]);
      walk(nums, i + 1, one, all);
      one.pop_back();
    }
  }

 public:
  vector<vector<int>> subsets(vector<int>& nums) {
    vector<vector<int>> all;
    vector<int> one;
    walk(nums, 0, one, all);
    return all;
  }
};
