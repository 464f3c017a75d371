// clang-format off
// form: humaneval
// tests: {"prompt": "#include<assert.h>\n#include<bits/stdc++.h>\n// Sum of squares.\nlong squares(std::vector<long> xs) {\n", "test": "}\nint main() {\n    auto candidate = squares;\n    assert(candidate((std::vector<long>({(long)1, (long)2}))) == (5));\n    assert(candidate((std::vector<long>())) == (0));\n}\n", "entry_point": "squares"}
    long sum = 0;
    for (long x : xs) sum += x * x;
    return sum;
