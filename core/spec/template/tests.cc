// The tests of chat templates, "x is ...".
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/template/builtins.h"
#include "core/spec/text/unicode.h"

namespace sluice::chat {
namespace {

// The comparison that a test's name means; empty: none.
std::string Comparison(const std::string& name) {
  for (const auto& [test, op] : {std::make_pair("lt", "<"),
                                 {"lessthan", "<"},
                                 {"<", "<"},
                                 {"le", "<="},
                                 {"<=", "<="},
                                 {"gt", ">"},
                                 {"greaterthan", ">"},
                                 {">", ">"},
                                 {"ge", ">="},
                                 {">=", ">="}}) {
    if (name == test) return op;
  }
  return "";
}

bool IsSequence(const Value& value) {
  return value.undefined() || value.list() != nullptr || value.string() != nullptr ||
         value.object() != nullptr;
}

// Those of the kind of a value; -1: another test.
int TestKind(const std::string& name, const Value& value) {
  const bool* truth = value.As<bool>();
  if (name == "defined") return !value.undefined();
  if (name == "undefined") return value.undefined();
  if (name == "none") return value.none();
  if (name == "string") return value.string() != nullptr;
  if (name == "mapping") return value.object() != nullptr && !value.object()->is_namespace;
  if (name == "iterable" || name == "sequence") return IsSequence(value);
  if (name == "number") return value.number();
  if (name == "integer") return value.As<int64_t>() != nullptr;
  if (name == "float") return value.As<double>() != nullptr;
  if (name == "boolean") return truth != nullptr;
  if (name == "true") return truth != nullptr && *truth;
  if (name == "false") return truth != nullptr && !*truth;
  if (name == "callable") return value.As<std::shared_ptr<const Function>>() != nullptr;
  return -1;
}

}  // namespace

absl::StatusOr<bool> ApplyTest(const std::string& name, const Value& value, const List& arguments) {
  const int kind = TestKind(name, value);
  if (kind >= 0) return kind != 0;
  const int64_t* number = value.As<int64_t>();
  if (name == "odd" || name == "even") return number != nullptr && (*number % 2 != 0) == (name == "odd");
  if ((name == "upper" || name == "lower") && value.string() != nullptr) {
    const std::string upper = ToUpper(*value.string()), lower = ToLower(*value.string());
    return upper != lower && *value.string() == (name == "upper" ? upper : lower);
  }
  const Value argument = arguments.empty() ? Value() : arguments[0];
  if (name == "equalto" || name == "eq" || name == "==") return Equal(value, argument);
  if (name == "ne" || name == "!=") return !Equal(value, argument);
  if (name == "sameas") return std::string(value.TypeName()) == argument.TypeName() && Equal(value, argument);
  if (name == "in") return Contains(argument, value);
  if (name == "divisibleby" && argument.As<int64_t>() != nullptr && *argument.As<int64_t>() > 0) {
    return number != nullptr && *number % *argument.As<int64_t>() == 0;
  }
  const std::string op = Comparison(name);
  if (op.empty()) return absl::InvalidArgumentError(absl::StrCat("the test \"", name, "\" is not supported"));
  return Holds(op, value, argument);
}

}  // namespace sluice::chat
