// form: stdio
// comparison: numeric
// tests: [{"stdin": "", "expected_stdout": "3.141592653589793239 1.000000"}]
#include <cmath>
#include <cstdio>
int main() { printf("%.18Lf %f\n", acosl(-1.0L), (double)(sinl(1) * sinl(1) + cosl(1) * cosl(1))); }
