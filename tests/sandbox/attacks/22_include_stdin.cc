#include "/dev/stdin"
#include "/dev/tty"
int main() {}
