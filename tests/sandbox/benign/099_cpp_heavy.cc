// form: stdio
// tests: [{"stdin": "300\n", "expected_stdout": "13455000"}]
#include <cstdio>
#include <vector>
int main() {
  int n;
  if (scanf("%d", &n) != 1) return 1;
  std::vector<std::vector<double>> a(n, std::vector<double>(n, 1)), c = a;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      c[i][j] = 0;
      for (int k = 0; k < n; k++) c[i][j] += a[i][k] * (k + 0.0);
    }
  double sum = 0;
  for (auto& row : c)
    for (double x : row) sum += x;
  printf("%.0f\n", sum / n + 0.0);
}
