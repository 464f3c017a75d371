#include "reward/code/cpp_asserts.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "reward/code/cpp_scanner.h"

namespace sluice {
namespace {

constexpr int kMaxTypeDepth = 16;
constexpr size_t kMaxTypeBytes = 1000, kMaxParameters = 64;

// Names that tests mean the standard library by, where they also call something that it does not have.
constexpr absl::string_view kStandardNames[] = {"abs",
                                                "fabs",
                                                "labs",
                                                "llabs",
                                                "sqrt",
                                                "cbrt",
                                                "pow",
                                                "exp",
                                                "log",
                                                "log2",
                                                "log10",
                                                "sin",
                                                "cos",
                                                "tan",
                                                "atan",
                                                "atan2",
                                                "floor",
                                                "ceil",
                                                "round",
                                                "lround",
                                                "trunc",
                                                "fmod",
                                                "hypot",
                                                "isnan",
                                                "isinf",
                                                "isfinite",
                                                "max",
                                                "min",
                                                "minmax",
                                                "swap",
                                                "sort",
                                                "stable_sort",
                                                "reverse",
                                                "unique",
                                                "equal",
                                                "count",
                                                "count_if",
                                                "find",
                                                "find_if",
                                                "all_of",
                                                "any_of",
                                                "none_of",
                                                "accumulate",
                                                "iota",
                                                "fill",
                                                "copy",
                                                "transform",
                                                "for_each",
                                                "rotate",
                                                "shuffle",
                                                "is_sorted",
                                                "is_permutation",
                                                "next_permutation",
                                                "prev_permutation",
                                                "binary_search",
                                                "lower_bound",
                                                "upper_bound",
                                                "max_element",
                                                "min_element",
                                                "lexicographical_compare",
                                                "mismatch",
                                                "search",
                                                "includes",
                                                "remove",
                                                "remove_if",
                                                "replace",
                                                "merge",
                                                "distance",
                                                "advance",
                                                "next",
                                                "prev",
                                                "begin",
                                                "end",
                                                "cbegin",
                                                "cend",
                                                "rbegin",
                                                "rend",
                                                "size",
                                                "ssize",
                                                "empty",
                                                "data",
                                                "make_pair",
                                                "make_tuple",
                                                "make_optional",
                                                "make_shared",
                                                "make_unique",
                                                "tie",
                                                "get",
                                                "move",
                                                "forward",
                                                "to_string",
                                                "stoi",
                                                "stol",
                                                "stoll",
                                                "stoul",
                                                "stoull",
                                                "stod",
                                                "stof",
                                                "string",
                                                "vector",
                                                "set",
                                                "map",
                                                "pair",
                                                "tuple",
                                                "array",
                                                "list",
                                                "deque",
                                                "optional",
                                                "function",
                                                "strcmp",
                                                "strncmp",
                                                "strlen",
                                                "strcpy",
                                                "memcmp",
                                                "memset",
                                                "memcpy",
                                                "atoi",
                                                "atof",
                                                "isalpha",
                                                "isdigit",
                                                "isalnum",
                                                "isspace",
                                                "isupper",
                                                "islower",
                                                "toupper",
                                                "tolower",
                                                "gcd",
                                                "lcm",
                                                "printf",
                                                "puts",
                                                "exit",
                                                "abort",
                                                "assert",
                                                "isclose",
                                                "cout",
                                                "cerr",
                                                "endl",
                                                "bitset",
                                                "complex",
                                                "inner_product",
                                                "partial_sum",
                                                "hash",
                                                "less",
                                                "greater",
                                                "ref",
                                                "cref",
                                                "bind",
                                                "invoke",
                                                "apply",
                                                "visit",
                                                "initializer_list",
                                                "nullopt",
                                                "string_view"};

// Members that values of the standard library have.
constexpr absl::string_view kStandardMembers[] = {
    "size",    "empty",  "begin",   "end",      "push_back", "pop_back",  "emplace_back", "at",    "front",
    "back",    "length", "find",    "count",    "insert",    "erase",     "clear",        "c_str", "substr",
    "data",    "resize", "emplace", "contains", "value",     "has_value", "rbegin",       "rend",  "append",
    "compare", "push",   "pop",     "top",      "assign",    "reserve"};

template <size_t N>
bool IsOneOf(absl::string_view name, const absl::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

struct Word {
  absl::string_view text;
  absl::string_view before;  // the code up to it, without blanks at its end
  char after = 0;            // the next character that is no blank
};

// The words of code.
std::vector<Word> Words(absl::string_view code) {
  std::vector<Word> out;
  for (size_t i = 0; i < code.size();) {
    size_t end = i;
    while (end < code.size() && IsNameCharacter(code[end])) ++end;
    if (end == i) {
      ++i;
      continue;
    }
    absl::string_view rest = absl::StripLeadingAsciiWhitespace(code.substr(end));
    out.push_back({code.substr(i, end - i), absl::StripTrailingAsciiWhitespace(code.substr(0, i)),
                   rest.empty() ? '\0' : rest[0]});
    i = end;
  }
  return out;
}

absl::string_view LastWord(absl::string_view code) {
  size_t begin = code.size();
  while (begin > 0 && IsNameCharacter(code[begin - 1])) --begin;
  return code.substr(begin);
}

// Whether code ends in a type with arguments of its own, as "vector<int>" does.
bool EndsInTemplate(absl::string_view code) {
  int depth = 0;
  for (size_t i = code.size(); i-- > 0;) {
    depth += code[i] == '>' ? 1 : code[i] == '<' ? -1 : 0;
    if (depth == 0) return code[i] == '<' && IsOneOf(LastWord(code.substr(0, i)), kStandardNames);
    if (absl::StrContains("();=", code.substr(i, 1))) return false;
  }
  return false;
}

bool IsMember(const Word& word) {
  return absl::EndsWith(word.before, "->") ||
         (absl::EndsWith(word.before, ".") && !absl::EndsWith(word.before, ".."));
}

// Whether the word is called, and not declared or a member.
bool IsCall(const Word& word) {
  if (word.after != '(' || IsMember(word) || absl::EndsWith(word.before, "::")) return false;
  if (absl::EndsWith(word.before, ">")) return !EndsInTemplate(word.before);
  absl::string_view last = LastWord(word.before);
  if (last.empty()) return true;
  return last == "return" || last == "else" || last == "throw" || last == "case" || last == "and" ||
         last == "or" || last == "not";
}

// Whether the word is the name of a class by how it is written and used.
bool IsClassUse(const Word& word) {
  bool upper = absl::ascii_isupper(static_cast<unsigned char>(word.text[0]));
  bool lower = std::any_of(word.text.begin(), word.text.end(),
                           [](char c) { return absl::ascii_islower(static_cast<unsigned char>(c)); });
  bool used = IsNameCharacter(word.after) || absl::StrContains("*&{<:", absl::string_view(&word.after, 1));
  bool is_new = LastWord(word.before) == "new";
  return upper && lower && (used || is_new) && !IsMember(word);
}

std::string AllText(const AssertTests& tests) {
  return absl::StrCat(tests.setup, "\n", absl::StrJoin(tests.asserts, ";\n"));
}

bool IsNumberWord(absl::string_view text) { return absl::ascii_isdigit(static_cast<unsigned char>(text[0])); }

// Reads types as values.h writes them.
class TypeReader {
 public:
  explicit TypeReader(absl::string_view text) : rest_(text) {}
  bool All() { return rest_.size() <= kMaxTypeBytes && Type(0) && rest_.empty(); }

 private:
  bool Type(int depth) {
    if (depth > kMaxTypeDepth) return false;
    for (absl::string_view plain : {"bool", "char", "signed char", "unsigned char", "short", "unsigned short",
                                    "int", "unsigned int", "long long", "unsigned long long", "long double",
                                    "long", "unsigned long", "float", "double", "std::string"}) {
      absl::string_view after = rest_;
      bool whole =
          absl::ConsumePrefix(&after, plain) && (after.empty() || after[0] == ',' || after[0] == '>');
      if (whole) {
        rest_ = after;
        return true;
      }
    }
    for (absl::string_view container :
         {"vector", "deque", "list", "set", "multiset", "unordered_multiset", "unordered_set", "optional",
          "array", "pair", "tuple", "map", "unordered_map"}) {
      if (absl::ConsumePrefix(&rest_, absl::StrCat("std::", container, "<"))) return Arguments(depth);
    }
    return false;
  }
  bool Arguments(int depth) {
    if (absl::ConsumePrefix(&rest_, ">")) return true;
    while (true) {
      bool number = !rest_.empty() && absl::ascii_isdigit(static_cast<unsigned char>(rest_[0]));
      while (number && !rest_.empty() && absl::ascii_isdigit(static_cast<unsigned char>(rest_[0])))
        rest_.remove_prefix(1);
      if (!number && !Type(depth + 1)) return false;
      if (absl::ConsumePrefix(&rest_, ">")) return true;
      if (!absl::ConsumePrefix(&rest_, ",")) return false;
    }
  }
  absl::string_view rest_;
};

bool IsPlainType(absl::string_view text) { return TypeReader(text).All(); }

// Without headers of assert, whose place another one takes.
std::string WithoutAssertHeaders(absl::string_view text) {
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    bool header = absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "#") &&
                  (absl::StrContains(line, "<cassert>") || absl::StrContains(line, "<assert.h>"));
    lines.emplace_back(header ? "" : line);
  }
  return absl::StrJoin(lines, "\n");
}

std::string StubName(const CppEntry& entry, size_t index) {
  return entry.owner.empty() ? absl::StrCat("sluice_stub_", index) : entry.function;
}

// One function of the program with the first `count` arguments; `constant`: none of them changes.
std::string Stub(const CppEntry& entry, const std::string& name, const CppSignature& signature, size_t count,
                 bool constant) {
  std::vector<std::string> classes, parameters, arguments;
  std::string before, after;
  for (size_t i = 0; i < count; ++i) {
    const CppSignature::Parameter& parameter = signature.parameters[i];
    bool changes = parameter.changes && !constant;
    absl::string_view type = parameter.type;
    std::string a = absl::StrCat("sluice_a", i), n = absl::StrCat("sluice_n", i),
                kept = absl::StrCat("sluice_k", i);
    if (absl::ConsumeSuffix(&type, "*")) {
      classes.push_back(absl::StrCat("std::size_t ", n));
      parameters.push_back(absl::StrCat(changes ? "" : "const ", type, " (&", a, ")[", n, "]"));
      absl::StrAppend(&before, "  std::vector<", type, "> ", kept, "(", a, ", ", a, " + ", n, ");\n");
      if (changes) absl::StrAppend(&after, "  std::copy_n(", kept, ".begin(), ", n, ", ", a, ");\n");
      arguments.push_back(kept);
    } else {
      parameters.push_back(absl::StrCat(changes ? "" : "const ", type, "& ", a));
      arguments.push_back(a);
    }
  }
  std::string head = classes.empty() ? "" : absl::StrCat("template <", absl::StrJoin(classes, ", "), ">\n");
  bool is_void = signature.result == "void";
  arguments.insert(arguments.begin(), absl::StrCat("\"", entry.name, "\""));
  return absl::StrCat(head, entry.owner.empty() ? "static " : "", signature.result, " ", name, "(",
                      absl::StrJoin(parameters, ", "), ")", entry.owner.empty() ? "" : " const", " {\n",
                      before, is_void ? "  " : "  auto sluice_value = ", "sluice_harness::Ask<",
                      signature.result, ">(", absl::StrJoin(arguments, ", "), ");\n", after,
                      is_void ? "" : "  return sluice_value;\n", "}\n");
}

std::string Stubs(const CppEntry& entry, const std::string& name, const CppSignature& signature) {
  std::string out;
  for (size_t count = signature.least; count <= signature.parameters.size(); ++count) {
    auto end = signature.parameters.begin() + static_cast<std::ptrdiff_t>(count);
    bool changes = std::any_of(signature.parameters.begin(), end, [](const auto& p) { return p.changes; });
    absl::StrAppend(&out, Stub(entry, name, signature, count, true));
    if (changes) absl::StrAppend(&out, Stub(entry, name, signature, count, false));
  }
  return out;
}

constexpr absl::string_view kAssert =
    "#undef assert\n#define assert(...) ((__VA_ARGS__) ? void(0) : sluice_harness::Fail(#__VA_ARGS__))\n";

}  // namespace

absl::StatusOr<CppSignature> ReadCppSignature(const TypedValue& answer) {
  const auto invalid = absl::InvalidArgumentError("a signature that is not of the standard library's types");
  const auto& items = answer.items;
  bool shaped = answer.kind == TypedValue::kTuple && items.size() == 4 && items[0].IsText("signature") &&
                items[2].kind == TypedValue::kInteger && items[3].kind == TypedValue::kList &&
                items[3].items.size() <= kMaxParameters;
  if (!shaped) return invalid;
  CppSignature out;
  out.result = items[1].text;
  if (out.result != "void" && !IsPlainType(out.result)) return invalid;
  for (const TypedValue& item : items[3].items) {
    bool pair =
        item.kind == TypedValue::kList && item.items.size() == 2 && item.items[1].kind == TypedValue::kBool;
    if (!pair) return invalid;
    absl::string_view type = item.items[0].text;
    (void)absl::ConsumeSuffix(&type, "*");
    if (!IsPlainType(type)) return invalid;
    out.parameters.push_back({item.items[0].text, item.items[1].integer != 0});
  }
  out.least = static_cast<size_t>(items[2].integer);
  if (items[2].integer < 0 || out.least > out.parameters.size()) return invalid;
  return out;
}

absl::StatusOr<std::vector<CppEntry>> CallsOfAsserts(const AssertTests& tests, absl::string_view program) {
  std::string text = AllText(tests), code = CodeOnly(text);
  std::set<std::string> own, standard, methods;
  bool solution = false;
  for (const Word& word : Words(code)) {
    if (IsNumberWord(word.text) || !IsCppName(word.text)) continue;
    std::string name(word.text);
    solution = solution || name == "Solution";
    if (name != "Solution" && IsClassUse(word) && !DefinesClass(text, name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("field \"tests\": they make objects of the program's class ", name,
                       ", which asserts about C++ programs cannot; calls of functions, or of methods of "
                       "\"Solution\", are expected"));
    }
    if (IsMember(word) && word.after == '(' && !IsOneOf(name, kStandardMembers)) methods.insert(name);
    if (!IsCall(word) || name == "Solution" || DefinesFreeFunction(text, name)) continue;
    (IsOneOf(name, kStandardNames) ? standard : own).insert(name);
  }
  std::vector<CppEntry> out;
  for (const std::string& name : own.empty() && !solution ? standard : own) {
    if (DefinesFreeFunction(program, name)) out.push_back({name, "", name, {}});
  }
  for (const std::string& name : methods) {
    bool defined = solution && absl::StrContains(CodeOnly(program), name);
    if (defined) out.push_back({absl::StrCat("Solution.", name), "Solution", name, {}});
  }
  return out;
}

std::string AssertsUnit(const AssertTests& tests, const std::vector<CppEntry>& entries,
                        const std::vector<CppSignature>& signatures) {
  std::string functions, methods, names;
  for (size_t i = 0; i < entries.size(); ++i) {
    std::string stub = StubName(entries[i], i);
    absl::StrAppend(entries[i].owner.empty() ? &functions : &methods, Stubs(entries[i], stub, signatures[i]));
    if (entries[i].owner.empty()) absl::StrAppend(&names, "#define ", entries[i].function, " ", stub, "\n");
  }
  if (!methods.empty()) absl::StrAppend(&functions, "struct Solution {\n", methods, "};\n");
  std::string out = absl::StrCat("#include <bits/stdc++.h>\n", kCppValues, "\n", kCppChannel, "\n", kCppTests,
                                 "\nusing namespace std;\n", functions, names, kAssert, "#line 1 \"setup\"\n",
                                 WithoutAssertHeaders(tests.setup), "\n", kAssert);
  std::string cases;
  for (size_t i = 0; i < tests.asserts.size(); ++i) {
    absl::StrAppend(&out, "static void sluice_test_", i, "() {\n#line 1 \"assert ", i + 1, "\"\n",
                    WithoutAssertHeaders(tests.asserts[i]), "\n;}\n");
    absl::StrAppend(&cases, "  if (sluice_number == ", i, ") return sluice_test_", i, "();\n");
  }
  return absl::StrCat(out, "void sluice_harness::RunTest(std::size_t sluice_number) {\n", cases, "}\n");
}

}  // namespace sluice
