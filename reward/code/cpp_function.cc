#include "reward/code/cpp_function.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "reward/code/cpp_scanner.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

constexpr absl::string_view kStandard = "#include <bits/stdc++.h>\n";
constexpr absl::string_view kUsingStandard = "using namespace std;\n";
constexpr size_t kMaxArguments = 64;

std::string Harness() { return absl::StrCat(kCppValues, "\n", kCppChannel, "\n", kCppCandidate, "\n"); }

// Tells functions of one name apart by how many arguments the tests give.
std::string SignaturesOf(size_t arity) {
  std::vector<std::string> classes = {"class R"}, names;
  for (size_t i = 0; i < arity; ++i) {
    names.push_back(absl::StrCat("A", i));
    classes.push_back(absl::StrCat("class A", i));
  }
  std::string parameters = absl::StrJoin(names, ", ");
  std::string types = absl::StrJoin(classes, ", ");
  std::string signature = absl::StrCat("sluice_harness::Signature<R", names.empty() ? "" : ", ", parameters,
                                       "> sluice_signature");
  std::string out = absl::StrCat("template <", types, "> ", signature, "(R (*)(", parameters, "), int);\n");
  for (absl::string_view constant : {"", " const"}) {
    absl::StrAppend(&out, "template <class C, ", types, "> ", signature, "(R (C::*)(", parameters, ")",
                    constant, ", int);\n");
  }
  return out;
}

// What stands after the program. All names begin with "sluice_": the program may have macros of short names.
std::string Calls(const std::vector<CppEntry>& entries) {
  std::string out = "\n#undef main\n#line 1 \"call.cc\"\n", enter;
  std::set<std::string> owners;
  for (size_t i = 0; i < entries.size(); ++i) {
    const CppEntry& entry = entries[i];
    std::string object = absl::StrCat("sluice_object_", entry.owner);
    if (!entry.owner.empty() && owners.insert(entry.owner).second) {
      absl::StrAppend(&out, "static ::", entry.owner, "& ", object, "() {\n  static ::", entry.owner,
                      "* sluice_made = new ::", entry.owner, "();\n  return *sluice_made;\n}\n");
    }
    std::string function = absl::StrCat("::", entry.owner, entry.owner.empty() ? "" : "::", entry.function);
    std::string call =
        absl::StrCat(entry.owner.empty() ? function : absl::StrCat(object, "().", entry.function),
                     "(static_cast<sluice_type&&>(sluice_argument)...)");
    absl::StrAppend(&out, "struct sluice_call_", i,
                    " {\n  template <class... sluice_type>\n  auto operator()(sluice_type&&... "
                    "sluice_argument) const -> decltype(",
                    call, ") {\n    return ", call, ";\n  }\n};\n");
    absl::StrAppend(&out, "static sluice_harness::Entry sluice_entry_", i,
                    " = sluice_harness::MakeEntry<sluice_call_", i, ">(\"", entry.name,
                    "\", decltype(sluice_signature(&", function, ", 0))());\n");
    absl::StrAppend(&enter, "  sluice_entry_", i, ".next = sluice_harness::entries;\n",
                    "  sluice_harness::entries = &sluice_entry_", i, ";\n");
  }
  return absl::StrCat(out, "void sluice_harness_enter() {\n", enter, "}\n");
}

bool HasHeadersOfItsOwn(absl::string_view program) {
  bool some = false;
  for (absl::string_view line : absl::StrSplit(program, '\n')) {
    if (absl::StrContains(line, "#include")) some = true;
    if (absl::StrContains(line, "bits/stdc++.h")) return false;
  }
  return some;
}

}  // namespace

absl::StatusOr<CppEntry> ReadCppEntry(absl::string_view name, absl::string_view program) {
  CppEntry out{std::string(name), "", std::string(name), {}};
  size_t mark = name.find("::");
  size_t width = mark == absl::string_view::npos ? 1 : 2;
  if (mark == absl::string_view::npos) mark = name.find('.');
  if (mark != absl::string_view::npos) {
    out.owner = std::string(name.substr(0, mark));
    out.function = std::string(name.substr(mark + width));
  }
  bool owned = mark != absl::string_view::npos;
  if (!IsCppName(out.function) || (owned && !IsCppName(out.owner))) {
    return absl::InvalidArgumentError(
        absl::StrCat("tests.entry_point: the name of a C++ function, or of a method as \"Owner.method\", is "
                     "expected, it is ",
                     Quotation(name)));
  }
  bool method = !owned && !DefinesFreeFunction(program, out.function) && DefinesClass(program, "Solution");
  if (method) out.owner = "Solution";
  return out;
}

std::vector<std::string> CallableCpp(absl::string_view program, const std::vector<CppEntry>& entries) {
  std::set<size_t> arities;
  for (const CppEntry& entry : entries) arities.insert(entry.arities.begin(), entry.arities.end());
  std::string signatures;
  for (size_t arity : arities) {
    if (arity <= kMaxArguments) absl::StrAppend(&signatures, SignaturesOf(arity));
  }
  std::string calls = Calls(entries);
  auto reading = [&](absl::string_view before) {
    return absl::StrCat(kStandard, Harness(), signatures, before, "#line 1 \"program.cc\"\n", program, calls);
  };
  bool says_using = absl::StrContains(program, "using namespace std");
  std::string plain = reading("");
  std::vector<std::string> out = {plain};
  if (!says_using) {  // as the sites for exercises complete programs
    std::string completed = reading(kUsingStandard);
    out.insert(absl::StrContains(program, "std::") ? out.end() : out.begin(), completed);
  }
  // With no more headers than the program asks for, whose names it may use itself.
  if (HasHeadersOfItsOwn(program)) {
    out.push_back(absl::StrCat("#define main sluice_candidate_main\n#line 1 \"program.cc\"\n", program,
                               "\n#undef main\n", Harness(), signatures, calls));
  }
  return out;
}

}  // namespace sluice
