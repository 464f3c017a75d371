#include "reward/code/test_set.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

using Status = absl::Status;

template <typename... Parts>
Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

std::string Holding(const TypedValue* value) {
  return value == nullptr ? "it is missing" : absl::StrCat("it is ", TypedValueKindName(value->kind));
}

const std::string* Field(const ScoreItem& item, const std::string& name) {
  auto it = item.fields.find(name);
  return it == item.fields.end() ? nullptr : &it->second;
}

absl::StatusOr<std::string> Text(const TypedValue& object, absl::string_view key, absl::string_view where) {
  const TypedValue* value = object.Find(key);
  if (value == nullptr || value->kind != TypedValue::kText) {
    return Invalid(where, ".", key, ": a string is expected, ", Holding(value));
  }
  return value->text;
}

absl::StatusOr<std::vector<std::string>> Texts(const TypedValue& list, absl::string_view where) {
  std::vector<std::string> out;
  for (const TypedValue& value : list.items) {
    if (value.kind != TypedValue::kText) {
      return Invalid(where, "[", out.size(), "]: a string is expected, ", Holding(&value));
    }
    out.push_back(value.text);
  }
  return out;
}

// Where a row without "tests" may have them, as APPS does.
constexpr char kPairedField[] = "input_output";

const char* TestsField(const ScoreItem& item) {
  bool paired = Field(item, "tests") == nullptr && Field(item, kPairedField) != nullptr;
  return paired ? kPairedField : "tests";
}

// The row's tests read as JSON.
absl::StatusOr<TypedValue> Tests(const ScoreItem& item, absl::string_view expected) {
  const char* name = TestsField(item);
  const std::string* field = Field(item, name);
  if (field == nullptr) return Invalid("field \"tests\" is missing; ", expected, " is expected");
  auto value = TypedValueFromJson(*field);
  if (!value.ok()) {
    return Invalid("field \"", name, "\": ", value.status().message(), "; ", expected, " is expected");
  }
  return value;
}

absl::StatusOr<TestSet> ReadAsserts(const ScoreItem& item) {
  constexpr absl::string_view kExpected =
      "{\"setup\": \"...\", \"asserts\": [\"assert ...\", ...]} or a list of assert statements";
  SLUICE_ASSIGN_OR_RETURN(TypedValue value, Tests(item, kExpected));
  AssertTests out;
  const std::string* setup = Field(item, "setup");
  if (setup != nullptr) out.setup = *setup;
  const TypedValue* list = &value;
  if (value.kind == TypedValue::kDict) {
    list = value.Find("asserts");
    if (value.Find("setup") != nullptr) {
      SLUICE_ASSIGN_OR_RETURN(out.setup, Text(value, "setup", "tests"));
    }
  }
  if (list == nullptr || list->kind != TypedValue::kList) {
    return Invalid("field \"tests\": ", kExpected, " is expected, ", Holding(list));
  }
  SLUICE_ASSIGN_OR_RETURN(out.asserts, Texts(*list, "tests.asserts"));
  return out;
}

// The output that a test expects, which some data sets write as a list of lines.
absl::StatusOr<std::string> Joined(const TypedValue& value, absl::string_view where) {
  if (value.kind == TypedValue::kText) return value.text;
  if (value.kind != TypedValue::kList) return Invalid(where, ": a string is expected, ", Holding(&value));
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> lines, Texts(value, where));
  std::string out;
  for (const std::string& line : lines) absl::StrAppend(&out, line, "\n");
  return out;
}

// Objects of JSON whose keys are all integers are dicts by integers in Python.
TypedValue WithIntegerKeys(TypedValue value) {
  if (value.kind != TypedValue::kDict) return value;
  TypedValue out = value;
  for (size_t i = 0; i < out.items.size(); i += 2) {
    auto key = IntegerFromDecimal(out.items[i].text);
    if (!key.ok()) return value;
    out.items[i] = *std::move(key);
  }
  return out;
}

// "inputs" are lists of arguments, "outputs" values, each of which may stand in a list of its own.
absl::StatusOr<TestSet> ReadCalls(const std::string& function, const TypedValue& inputs,
                                  const TypedValue& outputs, bool python) {
  FunctionTests out{function, {}};
  for (size_t i = 0; i < inputs.items.size(); ++i) {
    FunctionCase& test = out.cases.emplace_back();
    const TypedValue& input = inputs.items[i];
    test.args = input.kind == TypedValue::kList ? input : TypedValue::List({input});
    if (python) {
      for (TypedValue& argument : test.args.items) argument = WithIntegerKeys(std::move(argument));
    }
    test.kwargs.kind = TypedValue::kDict;
    test.expected = outputs.items[i];
    test.wrapped = test.expected.kind == TypedValue::kList && test.expected.items.size() == 1;
  }
  return out;
}

// {"inputs", "outputs"}: of a program; with "fn_name", of a function.
absl::StatusOr<TestSet> ReadPaired(const TypedValue& value, const char* name, bool python) {
  const TypedValue *inputs = value.Find("inputs"), *outputs = value.Find("outputs"),
                   *function = value.Find("fn_name");
  for (const TypedValue* list : {inputs, outputs}) {
    if (list == nullptr || list->kind != TypedValue::kList) {
      return Invalid("field \"", name, "\": lists \"inputs\" and \"outputs\" are expected, one is not there");
    }
  }
  if (inputs->items.size() != outputs->items.size()) {
    return Invalid("field \"", name, "\": ", inputs->items.size(), " inputs and ", outputs->items.size(),
                   " outputs; as many are expected");
  }
  if (function != nullptr && function->kind != TypedValue::kNone) {
    SLUICE_ASSIGN_OR_RETURN(std::string called, Text(value, "fn_name", name));
    if (called.empty()) return Invalid(name, ".fn_name: the name of a function is expected, it is empty");
    return ReadCalls(called, *inputs, *outputs, python);
  }
  StdioTests out;
  for (size_t i = 0; i < inputs->items.size(); ++i) {
    StdioTest& test = out.tests.emplace_back();
    SLUICE_ASSIGN_OR_RETURN(test.input, Joined(inputs->items[i], absl::StrCat(name, ".inputs[", i, "]")));
    SLUICE_ASSIGN_OR_RETURN(test.expected,
                            Joined(outputs->items[i], absl::StrCat(name, ".outputs[", i, "]")));
  }
  return out;
}

bool IsPaired(const TypedValue& value) {
  return value.kind == TypedValue::kDict && value.Find("inputs") != nullptr;
}

absl::StatusOr<TestSet> ReadStdio(const ScoreItem& item, bool python) {
  constexpr absl::string_view kExpected =
      "[{\"stdin\": \"...\", \"expected_stdout\": \"...\"}, ...] or {\"inputs\": [...], \"outputs\": [...]}";
  SLUICE_ASSIGN_OR_RETURN(TypedValue value, Tests(item, kExpected));
  if (IsPaired(value)) return ReadPaired(value, TestsField(item), python);
  if (value.kind != TypedValue::kList) {
    return Invalid("field \"tests\": ", kExpected, " is expected, ", Holding(&value));
  }
  StdioTests out;
  for (const TypedValue& entry : value.items) {
    std::string where = absl::StrCat("tests[", out.tests.size(), "]");
    if (entry.kind != TypedValue::kDict) return Invalid(where, ": an object is expected, ", Holding(&entry));
    StdioTest& test = out.tests.emplace_back();
    if (entry.Find("stdin") != nullptr) {
      SLUICE_ASSIGN_OR_RETURN(test.input, Text(entry, "stdin", where));
    }
    SLUICE_ASSIGN_OR_RETURN(test.expected, Text(entry, "expected_stdout", where));
  }
  return out;
}

absl::StatusOr<FunctionCase> ReadCase(const TypedValue& entry, const std::string& where) {
  if (entry.kind != TypedValue::kDict) return Invalid(where, ": an object is expected, ", Holding(&entry));
  FunctionCase out;
  out.args.kind = TypedValue::kList;
  out.kwargs.kind = TypedValue::kDict;
  const TypedValue *args = entry.Find("args"), *kwargs = entry.Find("kwargs"),
                   *expected = entry.Find("expected");
  if (args == nullptr && kwargs == nullptr) return Invalid(where, ".args: a list is expected, it is missing");
  if (args != nullptr && args->kind != TypedValue::kList) {
    return Invalid(where, ".args: a list is expected, ", Holding(args));
  }
  if (kwargs != nullptr && kwargs->kind != TypedValue::kDict) {
    return Invalid(where, ".kwargs: an object is expected, ", Holding(kwargs));
  }
  if (expected == nullptr) return Invalid(where, ".expected is missing; any JSON value is expected");
  if (args != nullptr) out.args = *args;
  if (kwargs != nullptr) out.kwargs = *kwargs;
  out.expected = *expected;
  return out;
}

absl::StatusOr<TestSet> ReadFunction(const ScoreItem& item, bool python) {
  constexpr absl::string_view kExpected =
      "{\"entry_point\": \"...\", \"cases\": [{\"args\": [...], \"expected\": ...}, ...]}";
  SLUICE_ASSIGN_OR_RETURN(TypedValue value, Tests(item, kExpected));
  if (IsPaired(value)) return ReadPaired(value, TestsField(item), python);
  const TypedValue* cases = value.kind == TypedValue::kList ? &value : value.Find("cases");
  if (cases == nullptr || cases->kind != TypedValue::kList) {
    return Invalid("field \"tests\": ", kExpected, " is expected, ",
                   Holding(cases == nullptr ? nullptr : cases));
  }
  FunctionTests out;
  const std::string* entry_point = Field(item, "entry_point");
  if (entry_point != nullptr) out.entry_point = *entry_point;
  if (value.Find("entry_point") != nullptr || entry_point == nullptr) {
    SLUICE_ASSIGN_OR_RETURN(out.entry_point, Text(value, "entry_point", "tests"));
  }
  if (out.entry_point.empty())
    return Invalid("tests.entry_point: the name of a function is expected, it is empty");
  for (const TypedValue& entry : cases->items) {
    SLUICE_ASSIGN_OR_RETURN(FunctionCase read,
                            ReadCase(entry, absl::StrCat("tests.cases[", out.cases.size(), "]")));
    out.cases.push_back(std::move(read));
  }
  return out;
}

// C++ rows have the program's end in "tests" itself; others {"prompt","test","entry_point"} there or beside
// it.
absl::StatusOr<TestSet> ReadHumanEval(const ScoreItem& item, bool cpp) {
  HumanEvalTest out;
  const std::string* tests = Field(item, "tests");
  auto object =
      tests == nullptr ? absl::StatusOr<TypedValue>(TypedValue::None()) : TypedValueFromJson(*tests);
  bool nested = object.ok() && object->kind == TypedValue::kDict;
  auto take = [&](const char* name, std::string& value) {
    const TypedValue* inside = nested ? object->Find(name) : nullptr;
    const std::string* beside = Field(item, name);
    if (inside != nullptr && inside->kind == TypedValue::kText) {
      value = inside->text;
    } else if (beside != nullptr) {
      value = *beside;
    } else {
      return false;
    }
    return true;
  };
  if (!take("prompt", out.prompt)) out.prompt = item.prompt;
  bool tested = take("test", out.test);
  if (!tested && cpp && nested) {  // as the rows call it
    const TypedValue* inside = object->Find("tests");
    tested = inside != nullptr && inside->kind == TypedValue::kText;
    if (tested) out.test = inside->text;
  } else if (!tested && cpp && tests != nullptr) {
    out.test = *tests;
    tested = true;
  }
  constexpr absl::string_view kExpected =
      " is expected, in {\"prompt\", \"test\", \"entry_point\"} of field \"tests\" or as a field of the row";
  if (!tested || absl::StripAsciiWhitespace(out.test).empty()) {
    return Invalid("field \"test\" is missing: the code of the tests", kExpected);
  }
  if (!take("entry_point", out.entry_point) || out.entry_point.empty()) {
    return Invalid("field \"entry_point\" is missing: the name of a function", kExpected);
  }
  return out;
}

absl::StatusOr<TestSet> ReadAny(const CodeScorerSpec& spec, const ScoreItem& item) {
  bool python = spec.language == CodeLanguage::kPython;
  switch (spec.tests) {
    case CodeTests::kAsserts:
      return ReadAsserts(item);
    case CodeTests::kStdio:
      return ReadStdio(item, python);
    case CodeTests::kFunction:
      return ReadFunction(item, python);
    case CodeTests::kHumanEval:
      return ReadHumanEval(item, spec.language == CodeLanguage::kCpp);
  }
  return absl::InternalError("a form of tests that is not known");
}

}  // namespace

size_t CountTests(const TestSet& tests) {
  struct Count {
    size_t operator()(const AssertTests& t) const { return t.asserts.size(); }
    size_t operator()(const StdioTests& t) const { return t.tests.size(); }
    size_t operator()(const FunctionTests& t) const { return t.cases.size(); }
    size_t operator()(const HumanEvalTest&) const { return 1; }
  };
  return std::visit(Count{}, tests);
}

absl::StatusOr<TestSet> ReadTests(const CodeScorerSpec& spec, const ScoreItem& item) {
  SLUICE_ASSIGN_OR_RETURN(TestSet tests, ReadAny(spec, item));
  size_t count = CountTests(tests);
  if (count == 0) return Invalid("field \"tests\" holds no test; one at least is expected");
  if (count > static_cast<size_t>(spec.max_tests)) {
    return Invalid("field \"tests\" holds ", count, " tests; max_tests is ", spec.max_tests);
  }
  return tests;
}

}  // namespace sluice
