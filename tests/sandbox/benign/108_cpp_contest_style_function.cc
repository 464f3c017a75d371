// clang-format off
// form: function
// tests: {"entry_point": "paths", "cases": [{"args": [4, [[1, 2, 5], [2, 3, 1], [1, 3, 9]]], "expected": [0, 5, 6, -1]}]}
#include <bits/stdc++.h>
using namespace std;
#define int long long
#define rep(i, n) for (int i = 0; i < (n); i++)
#define first f
#define N 1005
typedef pair<int, int> pii;
const int INF = 1e18;
vector<int> paths(int n, vector<vector<int>> edges) {
  vector<int> d(n, INF);
  d[0] = 0;
  rep(t, n) for (auto& e : edges) if (d[e[0] - 1] < INF) d[e[1] - 1] = min(d[e[1] - 1], d[e[0] - 1] + e[2]);
  for (auto& x : d) if (x == INF) x = -1;
  return d;
}
signed main() {
  int n, m;
  cin >> n >> m;
  vector<vector<int>> edges(m, vector<int>(3));
  rep(i, m) cin >> edges[i][0] >> edges[i][1] >> edges[i][2];
  for (int x : paths(n, edges)) cout << x << ' ';
}
