#include "tests/sandbox/code_corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

namespace sluice {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kFolder[] = SLUICE_SOURCE_DIR "/tests/sandbox/";

std::string FileText(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + " cannot be read");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Takes "# KEY: VALUE" or "// KEY: VALUE" lines off the front of `text`.
std::map<std::string, std::string> TakeHead(std::string& text) {
  std::map<std::string, std::string> head;
  while (true) {
    absl::string_view line = absl::string_view(text).substr(0, text.find('\n'));
    if (line == "// clang-format off") {
      text.erase(0, line.size() + 1);
      continue;
    }
    size_t colon = line.find(": ");
    size_t start = absl::StartsWith(line, "# ") ? 2 : absl::StartsWith(line, "// ") ? 3 : std::string::npos;
    if (start == std::string::npos || colon == absl::string_view::npos) return head;
    head[std::string(line.substr(start, colon - start))] = std::string(line.substr(colon + 2));
    text.erase(0, line.size() + 1);
  }
}

std::string Repeated(const json& times_and_text) {
  std::string out, text = times_and_text.at(1);
  for (int i = times_and_text.at(0); i > 0; --i) out += text;
  return out;
}

void Expand(json& test) {
  for (auto [from, to] :
       {std::pair("stdin_repeat", "stdin"), std::pair("expected_repeat", "expected_stdout")}) {
    if (!test.contains(from)) continue;
    test[to] = Repeated(test[from]);
    test.erase(from);
  }
  if (test.contains("expected_range")) {
    json list = json::array();
    for (int i = 0; i < test["expected_range"]; ++i) list.push_back(i);
    test["expected"] = list;
    test.erase("expected_range");
  }
}

// Rows without short forms stay as they are: the library would round long integers.
std::string Expanded(const std::string& text) {
  bool is_short = absl::StrContains(text, "_repeat\"") || absl::StrContains(text, "expected_range");
  if (!is_short) return text;
  json tests = json::parse(text);
  for (json& test : tests.is_array() ? tests : tests["cases"]) Expand(test);
  return tests.dump();
}

CodeTests FormOf(const std::string& name) {
  static const std::map<std::string, CodeTests> forms = {{"asserts", CodeTests::kAsserts},
                                                         {"stdio", CodeTests::kStdio},
                                                         {"function", CodeTests::kFunction},
                                                         {"humaneval", CodeTests::kHumanEval}};
  return forms.at(name);
}

CodeComparison ComparisonOf(const std::string& name, CodeTests form) {
  if (name.empty()) return form == CodeTests::kFunction ? CodeComparison::kExact : CodeComparison::kTokens;
  static const std::map<std::string, CodeComparison> names = {{"exact", CodeComparison::kExact},
                                                              {"numeric", CodeComparison::kNumeric},
                                                              {"unordered", CodeComparison::kUnordered}};
  return names.at(name);
}

CodeCase BenignCase(const fs::path& path) {
  std::string source = FileText(path);
  auto head = TakeHead(source);
  CodeCase out;
  out.name = path.filename();
  out.spec.language = path.extension() == ".cc" ? CodeLanguage::kCpp : CodeLanguage::kPython;
  out.spec.tests = FormOf(head.at("form"));
  out.spec.comparison = ComparisonOf(head["comparison"], out.spec.tests);
  out.item.fields["tests"] = Expanded(head.at("tests"));
  std::string around = head.count("completion") ? absl::StrReplaceAll(head["completion"], {{"\\n", "\n"}})
                                                : std::string("```\n{}```\n");
  out.item.completion = absl::StrReplaceAll(around, {{"{}", source}});
  return out;
}

constexpr std::pair<int, int> kSecrets[] = {{2, 408171123}, {3, 902104431}, {5, 655371997}};

std::string PythonCheck() {
  std::string check = "def check(candidate):\n";
  for (auto [n, value] : kSecrets) absl::StrAppend(&check, "    assert candidate(", n, ") == ", value, "\n");
  return check;
}

std::string CppCheck() {
  std::string check = "}\nint main() {\n    auto candidate = solve;\n";
  for (auto [n, value] : kSecrets) {
    absl::StrAppend(&check, "    assert(candidate((", n, ")) == (", value, "));\n");
  }
  return check + "}\n";
}

json SecretTests(CodeLanguage language, CodeTests form) {
  json out;
  if (form == CodeTests::kHumanEval) {
    bool cpp = language == CodeLanguage::kCpp;
    return {{"prompt", cpp ? "#include<assert.h>\n#include<bits/stdc++.h>\n#include<unistd.h>\n// The code "
                             "of n.\nlong solve(long n) {\n"
                           : "def solve(n):\n    \"\"\"The code of n.\"\"\"\n"},
            {"test", cpp ? CppCheck() : PythonCheck()},
            {"entry_point", "solve"}};
  }
  for (auto [n, value] : kSecrets) {
    if (form == CodeTests::kAsserts) {
      bool cpp = language == CodeLanguage::kCpp;
      out["asserts"].push_back(
          absl::StrCat("assert", cpp ? "(" : " ", "solve(", n, ") == ", value, cpp ? ");" : ""));
    } else if (form == CodeTests::kFunction) {
      out["entry_point"] = "solve";
      out["cases"].push_back({{"args", {n}}, {"expected", value}});
    } else {
      out.push_back({{"stdin", absl::StrCat(n, "\n")}, {"expected_stdout", absl::StrCat(value, "\n")}});
    }
  }
  return out;
}

// Values nobody returns, asked for in every way that tests ask.
constexpr const char* kManyAsserts[] = {
    "assert solve(2) == 777001",
    "assert 777001 == solve(2)",
    "assert not solve(2) != 777001",
    "assert solve(2) in (777001, 777002)",
    "assert solve(2) in {777001: 1}",
    "assert solve(2) >= 777001 and solve(2) <= 777001",
    "assert abs(solve(2) - 777001.5) < 1e-6",
    "assert abs(777001.5 - solve(2)) < 1e-6",
    "import math\nassert math.isclose(solve(2), 777001.25)",
    "assert solve(2) == [777, 1]",
    "assert solve(2) == {'secret': 777001}",
    "assert solve(2) == 'secret777'",
    "assert [solve(2)] == [777001]",
    "assert (1, solve(2)) == (1, 777001)",
    "assert solve(2)[0] == 777001",
    "assert solve(2)['secret'] == 777001",
    "assert len(solve(2)) == 777001",
    "assert set(solve(2)) == {777001}",
    "assert sorted(solve(2)) == [777001, 777002]",
    "assert list(solve(2)) == [777001]",
    "assert str(solve(2)) == '777001'",
    "assert repr(solve(2)) == 'secret'",
    "assert f'{solve(2)}' == 'secret'",
    "assert isinstance(solve(2), slice)",
    "assert type(solve(2)) is slice",
    "assert 'secret' in solve(2)",
    "assert all(x in solve(3) for x in (777001, 'secret'))",
    "assert solve(2) is Ellipsis and solve(3) is Ellipsis",
    "assert int(solve(2)) == 777001",
    "assert float(solve(2)) == 777001.5",
    "assert round(solve(2), 2) == 777001.25",
    "assert solve(2)('x') == 777001",
    "assert solve(2).secret == 777001",
    "assert solve(2) + 1 == 777002",
    "assert solve(2) & 777 == 777 and solve(3) | 7 == 777",
    "result = solve(2)\nassert result == 777001, 'wrong'",
    "import unittest\nunittest.TestCase().assertEqual(solve(2), 777001)",
    "for n in (2, 3, 5):\n    assert solve(n) == 777001",
};

CodeCase HackRow(const Hack& hack, CodeLanguage language, CodeTests form) {
  CodeCase out;
  out.name = absl::StrCat(hack.name, " as ", FormName(form));
  out.spec.language = language;
  out.spec.tests = form;
  out.spec.comparison = ComparisonOf("", form);
  out.spec.timeout_seconds = 0.5;
  out.spec.memory_bytes = int64_t{192} << 20;
  out.spec.output_bytes = int64_t{1} << 20;
  // Where nobody calls solve(), the program does.
  const char* driver =
      language == CodeLanguage::kPython && form == CodeTests::kStdio && hack.name != "solution"
          ? "\n\nif True:\n    print(solve(int(input())))\n"
          : "";
  out.item.completion = absl::StrCat("```\n", hack.source, driver, "```\n");
  return out;
}

CodeCase SharedObjectsCase(const Hack& hack, const char* setup, const char* before, const char* after) {
  CodeCase out = HackRow(hack, CodeLanguage::kPython, CodeTests::kAsserts);
  json tests = {{"setup", setup}};
  for (auto [n, value] : kSecrets) {
    tests["asserts"].push_back(absl::StrCat("assert solve(", before, n, after, ") == ", value));
  }
  out.item.fields["tests"] = tests.dump();
  return out;
}

}  // namespace

const char* FormName(CodeTests form) {
  switch (form) {
    case CodeTests::kAsserts:
      return "asserts";
    case CodeTests::kStdio:
      return "stdio";
    case CodeTests::kFunction:
      return "function";
    case CodeTests::kHumanEval:
      return "humaneval";
  }
  return "?";
}

std::vector<CodeCase> BenignCases() {
  std::vector<CodeCase> out;
  for (const auto& entry : fs::directory_iterator(absl::StrCat(kFolder, "benign"))) {
    out.push_back(BenignCase(entry.path()));
  }
  std::sort(out.begin(), out.end(), [](const CodeCase& a, const CodeCase& b) { return a.name < b.name; });
  return out;
}

std::vector<Hack> ReadHacks(const std::string& file) {
  std::vector<Hack> out;
  for (absl::string_view section :
       absl::StrSplit("\n" + FileText(absl::StrCat(kFolder, "hacks/", file)), "\n### ")) {
    if (section.empty()) continue;
    std::pair<absl::string_view, absl::string_view> parts = absl::StrSplit(section, absl::MaxSplits('\n', 1));
    Hack& hack = out.emplace_back();
    std::pair<std::string, std::string> title = absl::StrSplit(parts.first, absl::MaxSplits(" [outcome=", 1));
    hack.name = title.first;
    hack.source = absl::StrCat(parts.second, "\n");
    if (!title.second.empty()) {
      title.second.pop_back();
      hack.outcomes = absl::StrSplit(title.second, ',');
    }
  }
  return out;
}

CodeCase HackCase(const Hack& hack, CodeLanguage language, CodeTests form) {
  CodeCase out = HackRow(hack, language, form);
  out.item.fields["tests"] = SecretTests(language, form).dump();
  return out;
}

CodeCase ManyAssertsCase(const Hack& hack) {
  CodeCase out = HackRow(hack, CodeLanguage::kPython, CodeTests::kAsserts);
  out.spec.credit = CodeCredit::kShare;
  json tests;
  for (const char* one : kManyAsserts) tests["asserts"].push_back(one);
  out.item.fields["tests"] = tests.dump();
  return out;
}

CodeCase ObjectArgumentCase(const Hack& hack) {
  return SharedObjectsCase(hack, "nodes = {n: Node(n) for n in (2, 3, 5)}", "nodes[", "]");
}

CodeCase FunctionArgumentCase(const Hack& hack) {
  return SharedObjectsCase(hack, "add = 1", "lambda x: x + add, ", "");
}

Hack Solution(CodeLanguage language, CodeTests form) {
  if (language == CodeLanguage::kPython) {
    return {"solution",
            "TABLE = {2: 408171123, 3: 902104431, 5: 655371997}\n\n\nclass Node:\n    def __init__(self, "
            "n):\n        self.value = n\n\n\n"
            "def solve(*arguments):\n    return TABLE[getattr(arguments[-1], 'value', arguments[-1])]\n\n\n"
            "if __name__ == '__main__':\n    try:\n        print(solve(int(input())))\n    except "
            "EOFError:\n        pass\n",
            {}};
  }
  constexpr char kBody[] = "    return n == 2 ? 408171123 : n == 3 ? 902104431 : 655371997;\n";
  if (form == CodeTests::kHumanEval) return {"solution", kBody, {}};
  return {"solution",
          absl::StrCat(
              "#include <iostream>\nlong solve(long n) {\n", kBody,
              "}\nint main() {\n  long n;\n  std::cin >> n;\n  std::cout << solve(n) << std::endl;\n}\n"),
          {}};
}

}  // namespace sluice
