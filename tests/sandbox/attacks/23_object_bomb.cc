int huge[1L << 33] = {1};
int main() { return huge[5]; }
