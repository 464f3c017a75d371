// The expressions of chat templates.
#include "core/spec/template/eval.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice::chat {
namespace {

constexpr int kMaxExpressionDepth = 400;

absl::Status UndefinedError(const Value& value) {
  return Bad(absl::StrCat("'", value.As<Undefined>()->name, "' is undefined"));
}

absl::StatusOr<Value> Integers(const std::string& op, int64_t a, int64_t b) {
  int64_t out = 0;
  bool overflow = false;
  if (op == "+") overflow = __builtin_add_overflow(a, b, &out);
  if (op == "-") overflow = __builtin_sub_overflow(a, b, &out);
  if (op == "*") overflow = __builtin_mul_overflow(a, b, &out);
  if (op == "//" || op == "%") {
    if (b == 0) return Bad("division by zero");
    if (b == -1) return Integers("*", op == "%" ? 0 : a, -1);
    const int64_t remainder = ((a % b) + b) % b;  // of the sign of b, as in Python
    out = op == "%" ? remainder : (a - remainder) / b;
  }
  if (overflow) return Bad("a number too large");
  return Value::Int(out);
}

absl::StatusOr<Value> Arithmetic(const std::string& op, const Value& a, const Value& b) {
  if (!a.number() || !b.number()) {
    return Bad(absl::StrCat("cannot compute ", a.TypeName(), " ", op, " ", b.TypeName()));
  }
  const bool whole = !a.As<double>() && !b.As<double>() && op != "/";
  const auto integer = [](const Value& v) {
    return v.As<int64_t>() ? *v.As<int64_t>() : int64_t{*v.As<bool>()};
  };
  if (whole) return Integers(op, integer(a), integer(b));
  const double x = a.AsDouble(), y = b.AsDouble();
  if (y == 0 && op != "+" && op != "-" && op != "*") return Bad("division by zero");
  double out = op == "+" ? x + y : op == "-" ? x - y : op == "*" ? x * y : x / y;
  if (op == "//") out = std::floor(x / y);
  if (op == "%") out = x - y * std::floor(x / y);
  return Value(Value::Variant(out));
}

}  // namespace

absl::StatusOr<Value> Evaluator::Eval(const Expr& expr) {
  SLUICE_RETURN_IF_ERROR(budget_.Charge(0));
  if (depth_ >= kMaxExpressionDepth) return absl::ResourceExhaustedError("an expression nested too deeply");
  ++depth_;
  absl::StatusOr<Value> value = EvalKind(expr);
  --depth_;
  return value;
}

absl::StatusOr<Value> Evaluator::EvalKind(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::kLiteral:
      return expr.value;
    case ExprKind::kName:
      return EvalName(expr);
    case ExprKind::kList:
    case ExprKind::kDict:
      return EvalCollection(expr);
    case ExprKind::kAttribute: {
      SLUICE_ASSIGN_OR_RETURN(const Value base, Eval(*expr.items[0]));
      if (base.undefined()) return UndefinedError(base);
      const Value* found = base.object() == nullptr ? nullptr : base.object()->Find(expr.text);
      return found != nullptr ? *found : Value(Value::Variant(Undefined{expr.text}));
    }
    case ExprKind::kIndex:
      return EvalIndex(expr);
    case ExprKind::kSlice:
      return EvalSlice(expr);
    case ExprKind::kCall:
      return EvalCall(expr);
    case ExprKind::kFilter: {
      SLUICE_ASSIGN_OR_RETURN(const Value value, Eval(*expr.items[0]));
      SLUICE_ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr));
      return ApplyFilter(expr.text, value, arguments, budget_);
    }
    case ExprKind::kTest: {
      SLUICE_ASSIGN_OR_RETURN(const Value value, Eval(*expr.items[0]));
      SLUICE_ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr));
      SLUICE_ASSIGN_OR_RETURN(const bool passes, ApplyTest(expr.text, value, arguments.positional));
      return Value::Bool(passes);
    }
    case ExprKind::kUnary:
      return EvalUnary(expr);
    case ExprKind::kBinary:
      return EvalBinary(expr);
    case ExprKind::kCompare:
      return EvalCompare(expr);
    case ExprKind::kConditional: {
      SLUICE_ASSIGN_OR_RETURN(const Value condition, Eval(*expr.items[1]));
      if (condition.Truthy()) return Eval(*expr.items[0]);
      return expr.items[2] == nullptr ? absl::StatusOr<Value>(Value()) : Eval(*expr.items[2]);
    }
  }
  return Bad("unknown expression");
}

absl::StatusOr<Value> Evaluator::EvalName(const Expr& expr) {
  for (size_t i = scopes_.size(); i-- > 0;) {
    const auto found = scopes_[i].find(expr.text);
    if (found != scopes_[i].end()) return found->second;
  }
  return Value(Value::Variant(Undefined{expr.text}));
}

absl::StatusOr<Value> Evaluator::EvalCollection(const Expr& expr) {
  List items;
  for (const ExprPtr& item : expr.items) {
    SLUICE_ASSIGN_OR_RETURN(Value value, Eval(*item));
    items.push_back(std::move(value));
  }
  if (expr.kind == ExprKind::kList) return budget_.Items(std::move(items));
  Object object;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    SLUICE_ASSIGN_OR_RETURN(const std::string key, ToText(items[i], Budget::kMaxTextBytes));
    SLUICE_RETURN_IF_ERROR(budget_.Charge(static_cast<int64_t>(i)));
    object.Set(key, items[i + 1]);
  }
  return Value::Of(std::move(object));
}

absl::StatusOr<Value> Evaluator::EvalIndex(const Expr& expr) {
  SLUICE_ASSIGN_OR_RETURN(const Value base, Eval(*expr.items[0]));
  SLUICE_ASSIGN_OR_RETURN(const Value index, Eval(*expr.items[1]));
  if (base.undefined()) return UndefinedError(base);
  if (const Object* object = base.object()) {
    if (index.string() == nullptr) return Value(Value::Variant(Undefined{"item"}));
    const Value* found = object->Find(*index.string());
    return found != nullptr ? *found : Value(Value::Variant(Undefined{*index.string()}));
  }
  const int64_t* at = index.As<int64_t>();
  if (at == nullptr || (base.list() == nullptr && base.string() == nullptr)) {
    return Value(Value::Variant(Undefined{"item"}));
  }
  if (const List* list = base.list()) {
    const int64_t size = static_cast<int64_t>(list->size());
    const int64_t place = *at < 0 ? *at + size : *at;
    if (place < 0 || place >= size) return Value(Value::Variant(Undefined{"item"}));
    return (*list)[static_cast<size_t>(place)];
  }
  SLUICE_ASSIGN_OR_RETURN(const List characters, Iterate(base, budget_));
  const int64_t size = static_cast<int64_t>(characters.size());
  const int64_t place = *at < 0 ? *at + size : *at;
  if (place < 0 || place >= size) return Value(Value::Variant(Undefined{"item"}));
  return characters[static_cast<size_t>(place)];
}

absl::StatusOr<Value> Evaluator::EvalSlice(const Expr& expr) {
  Value parts[4];
  for (size_t i = 0; i < 4; ++i) {
    if (expr.items[i] == nullptr) continue;
    SLUICE_ASSIGN_OR_RETURN(parts[i], Eval(*expr.items[i]));
  }
  if (parts[0].undefined()) return UndefinedError(parts[0]);
  return Slice(parts[0], parts[1], parts[2], parts[3], budget_);
}

absl::StatusOr<Arguments> Evaluator::EvalArguments(const Expr& expr) {
  Arguments out;
  for (size_t i = 1; i < expr.items.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(Value value, Eval(*expr.items[i]));
    out.positional.push_back(std::move(value));
  }
  for (const auto& [name, argument] : expr.named) {
    SLUICE_ASSIGN_OR_RETURN(Value value, Eval(*argument));
    out.named.emplace_back(name, std::move(value));
  }
  return out;
}

absl::StatusOr<Value> Evaluator::EvalCall(const Expr& expr) {
  const Expr& callee = *expr.items[0];
  Value function;
  if (callee.kind == ExprKind::kAttribute) {
    SLUICE_ASSIGN_OR_RETURN(const Value receiver, Eval(*callee.items[0]));
    if (receiver.undefined()) return UndefinedError(receiver);
    SLUICE_ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr));
    absl::StatusOr<Value> result = CallMethod(receiver, callee.text, arguments, budget_);
    if (!absl::IsUnimplemented(result.status())) return result;
    const Value* member = receiver.object() == nullptr ? nullptr : receiver.object()->Find(callee.text);
    if (member == nullptr) {
      return Bad(
          absl::StrCat("the method \"", callee.text, "\" of ", receiver.TypeName(), " is not supported"));
    }
    function = *member;
  } else {
    SLUICE_ASSIGN_OR_RETURN(function, Eval(callee));
  }
  if (function.undefined()) return UndefinedError(function);
  if (function.object() != nullptr && function.object()->call != nullptr) {
    SLUICE_ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr));
    return (*function.object()->call)(arguments);
  }
  const auto* callable = function.As<std::shared_ptr<const Function>>();
  if (callable == nullptr)
    return Bad(absl::StrCat("a value of type ", function.TypeName(), " cannot be called"));
  SLUICE_ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr));
  return (**callable)(arguments);
}

absl::StatusOr<Value> Evaluator::EvalUnary(const Expr& expr) {
  SLUICE_ASSIGN_OR_RETURN(const Value value, Eval(*expr.items[0]));
  if (expr.text == "not") return Value::Bool(!value.Truthy());
  return Arithmetic(expr.text, Value::Int(0), value);
}

absl::StatusOr<Value> Evaluator::Add(const Value& a, const Value& b) {
  if (a.undefined()) return UndefinedError(a);
  if (b.undefined()) return UndefinedError(b);
  if (a.string() != nullptr && b.string() != nullptr)
    return budget_.Text(absl::StrCat(*a.string(), *b.string()));
  if (a.list() != nullptr && b.list() != nullptr) {
    SLUICE_RETURN_IF_ERROR(budget_.Charge(static_cast<int64_t>(a.list()->size() + b.list()->size())));
    List out = *a.list();
    out.insert(out.end(), b.list()->begin(), b.list()->end());
    return budget_.Items(std::move(out));
  }
  return Arithmetic("+", a, b);
}

absl::StatusOr<Value> Evaluator::EvalCompare(const Expr& expr) {
  SLUICE_ASSIGN_OR_RETURN(Value left, Eval(*expr.items[0]));
  for (const auto& [op, operand] : expr.named) {
    SLUICE_ASSIGN_OR_RETURN(Value right, Eval(*operand));
    const size_t work = right.list() != nullptr     ? right.list()->size()
                        : right.string() != nullptr ? right.string()->size() / 16
                                                    : 0;
    SLUICE_RETURN_IF_ERROR(budget_.Charge(static_cast<int64_t>(work)));
    SLUICE_ASSIGN_OR_RETURN(const bool holds, Holds(op, left, right));
    if (!holds) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

// text * number, in either order.
absl::StatusOr<Value> Evaluator::Repeat(const Value& a, const Value& b) {
  const std::string* text = a.string() != nullptr ? a.string() : b.string();
  const int64_t* number = (a.string() != nullptr ? b : a).As<int64_t>();
  if (number == nullptr) return Arithmetic("*", a, b);
  std::string out;
  const int64_t size = static_cast<int64_t>(text->size()), count = std::max<int64_t>(*number, 0);
  if (size > 0 && count > static_cast<int64_t>(Budget::kMaxTextBytes) / size) return Bad("a string too long");
  for (int64_t i = 0; size > 0 && i < count; ++i) out += *text;
  return budget_.Text(std::move(out));
}

absl::StatusOr<Value> Evaluator::EvalBinary(const Expr& expr) {
  const std::string& op = expr.text;
  SLUICE_ASSIGN_OR_RETURN(const Value a, Eval(*expr.items[0]));
  if ((op == "and" && !a.Truthy()) || (op == "or" && a.Truthy())) return a;
  SLUICE_ASSIGN_OR_RETURN(const Value b, Eval(*expr.items[1]));
  if (op == "and" || op == "or") return b;
  if (op == "+") return Add(a, b);
  if (op == "~") {
    SLUICE_ASSIGN_OR_RETURN(const std::string left, ToText(a, Budget::kMaxTextBytes));
    SLUICE_ASSIGN_OR_RETURN(const std::string right, ToText(b, Budget::kMaxTextBytes));
    return budget_.Text(left + right);
  }
  if (op == "*" && (a.string() != nullptr || b.string() != nullptr)) return Repeat(a, b);
  return Arithmetic(op, a, b);
}

}  // namespace sluice::chat
