#ifndef LEVEL
#define LEVEL 0
#endif
#include __FILE__
#include __FILE__
int main() {}
