#include <stdio.h>
int Deep(int n) {
  volatile char frame[4096];
  frame[0] = n;
  return Deep(n + 1) + frame[0];
}
int main() { return Deep(0); }
