// A flood of diagnostics.
#define B1(x) \
  x##a;       \
  x##b;       \
  x##c;       \
  x##d;       \
  x##e;       \
  x##f;       \
  x##g;       \
  x##h;       \
  x##i;       \
  x##j;
#define B2(x) B1(x##a) B1(x##b) B1(x##c) B1(x##d) B1(x##e) B1(x##f) B1(x##g) B1(x##h) B1(x##i) B1(x##j)
#define B3(x) B2(x##a) B2(x##b) B2(x##c) B2(x##d) B2(x##e) B2(x##f) B2(x##g) B2(x##h) B2(x##i) B2(x##j)
#define B4(x) B3(x##a) B3(x##b) B3(x##c) B3(x##d) B3(x##e) B3(x##f) B3(x##g) B3(x##h) B3(x##i) B3(x##j)
int main() { B4(undeclared_name_) }
