// The statements of chat templates (core/spec/template/eval.h).
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/template/eval.h"

namespace sluice::chat {
namespace {

constexpr int kMaxStatementDepth = 400;

absl::Status AtLine(const absl::Status& status, int line) {
  if (absl::StrContains(status.message(), "chat template line ")) return status;
  return Annotate(status, absl::StrCat("chat template line ", line));
}

}  // namespace

Evaluator::Evaluator(std::map<std::string, Value> globals) {
  scopes_.push_back(std::move(globals));
  scopes_[0].emplace("namespace",
                     Value::Of(Function([this](const Arguments& a) { return MakeNamespace(a); })));
  scopes_[0].emplace("range", Value::Of(Function([this](const Arguments& a) { return MakeRange(a); })));
  scopes_[0].emplace("dict", Value::Of(Function([](const Arguments& a) -> absl::StatusOr<Value> {
                       Object object;
                       for (const auto& [name, value] : a.named) object.Set(name, value);
                       return Value::Of(std::move(object));
                     })));
  scopes_[0].emplace("raise_exception", Value::Of(Function([](const Arguments& a) -> absl::StatusOr<Value> {
                       const bool text = !a.positional.empty() && a.positional[0].string() != nullptr;
                       return absl::InvalidArgumentError(absl::StrCat("the template refuses the messages: ",
                                                                      text ? *a.positional[0].string() : ""));
                     })));
}

Evaluator::~Evaluator() {
  scopes_.clear();
  for (const std::shared_ptr<Object>& object : namespaces_) *object = Object();
}

absl::StatusOr<Value> Evaluator::MakeNamespace(const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(budget_.Charge(16));
  auto object = std::make_shared<Object>();
  object->is_namespace = true;
  for (const auto& [name, value] : arguments.named) object->Set(name, value);
  namespaces_.push_back(object);
  return Value(Value::Variant(std::move(object)));
}

absl::StatusOr<Value> Evaluator::MakeRange(const Arguments& arguments) {
  std::vector<int64_t> bounds;
  for (const Value& value : arguments.positional) {
    if (value.As<int64_t>() == nullptr) return absl::InvalidArgumentError("range needs whole numbers");
    bounds.push_back(*value.As<int64_t>());
  }
  if (bounds.empty() || bounds.size() > 3)
    return absl::InvalidArgumentError("range needs one to three numbers");
  const int64_t from = bounds.size() > 1 ? bounds[0] : 0, to = bounds.size() > 1 ? bounds[1] : bounds[0];
  const int64_t by = bounds.size() > 2 ? bounds[2] : 1;
  constexpr int64_t kFar = int64_t{1} << 40;
  constexpr size_t kMostItems = 100'000;
  for (int64_t bound : {from, to, by}) {
    if (bound > kFar || bound < -kFar) return absl::InvalidArgumentError("range: a bound too large");
  }
  if (by == 0) return absl::InvalidArgumentError("range: a step of zero");
  List out;
  for (int64_t i = from; by > 0 ? i < to : i > to; i += by) {
    if (out.size() == kMostItems)
      return absl::ResourceExhaustedError(absl::StrCat("range of over ", kMostItems));
    out.push_back(Value::Int(i));
  }
  return budget_.Items(std::move(out));
}

absl::StatusOr<std::string> Evaluator::Render(const Block& block) {
  SLUICE_RETURN_IF_ERROR(Run(block).status());
  return std::move(output_);
}

absl::Status Evaluator::Write(absl::string_view text) {
  SLUICE_RETURN_IF_ERROR(budget_.Charge(static_cast<int64_t>(text.size() / 16)));
  if (output_.size() + text.size() > Budget::kMaxTextBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the text is longer than ", Budget::kMaxTextBytes, " bytes"));
  }
  output_.append(text.data(), text.size());
  return absl::OkStatus();
}

absl::StatusOr<Evaluator::Flow> Evaluator::Run(const Block& block) {
  if (depth_ >= kMaxStatementDepth)
    return absl::ResourceExhaustedError("the template nests or recurses too deeply");
  ++depth_;
  for (const auto& node : block) {
    absl::StatusOr<Flow> flow = RunNode(*node);
    if (!flow.ok()) return AtLine(flow.status(), node->line);
    if (*flow != Flow::kNext) {
      --depth_;
      return flow;
    }
  }
  --depth_;
  return Flow::kNext;
}

absl::StatusOr<Evaluator::Flow> Evaluator::RunNode(const Node& node) {
  SLUICE_RETURN_IF_ERROR(budget_.Charge(0));
  switch (node.kind) {
    case NodeKind::kText:
      SLUICE_RETURN_IF_ERROR(Write(node.text));
      break;
    case NodeKind::kOutput: {
      SLUICE_ASSIGN_OR_RETURN(const Value value, Eval(*node.expr));
      SLUICE_ASSIGN_OR_RETURN(const std::string text, ToText(value, Budget::kMaxTextBytes));
      SLUICE_RETURN_IF_ERROR(Write(text));
      break;
    }
    case NodeKind::kIf: {
      SLUICE_ASSIGN_OR_RETURN(const Value condition, Eval(*node.expr));
      return Run(condition.Truthy() ? node.body : node.otherwise);
    }
    case NodeKind::kFor:
      return RunFor(node);
    case NodeKind::kSet:
    case NodeKind::kSetBlock:
      SLUICE_RETURN_IF_ERROR(RunSet(node));
      break;
    case NodeKind::kMacro:
      scopes_.back()[node.text] = Value::Of(
          Function([this, &node](const Arguments& arguments) { return CallMacro(node, arguments); }));
      break;
    case NodeKind::kBreak:
      return Flow::kBreak;
    case NodeKind::kContinue:
      return Flow::kContinue;
    case NodeKind::kScope: {
      scopes_.emplace_back();
      SLUICE_ASSIGN_OR_RETURN(const Flow flow, Run(node.body));
      scopes_.pop_back();
      return flow;
    }
  }
  return Flow::kNext;
}

Value Evaluator::LoopObject(const Node& node, const List& items, size_t i, int depth) {
  const int64_t at = static_cast<int64_t>(i), size = static_cast<int64_t>(items.size());
  Object loop;
  loop.Set("index", Value::Int(at + 1));
  loop.Set("index0", Value::Int(at));
  loop.Set("revindex", Value::Int(size - at));
  loop.Set("revindex0", Value::Int(size - at - 1));
  loop.Set("first", Value::Bool(i == 0));
  loop.Set("last", Value::Bool(at + 1 == size));
  loop.Set("depth", Value::Int(depth + 1));
  loop.Set("depth0", Value::Int(depth));
  loop.Set("cycle", Value::Of(Function([i](const Arguments& a) -> absl::StatusOr<Value> {
             if (a.positional.empty()) return absl::InvalidArgumentError("cycle needs values");
             return a.positional[i % a.positional.size()];
           })));
  loop.Set("length", Value::Int(size));
  if (i > 0) loop.Set("previtem", items[i - 1]);
  if (at + 1 < size) loop.Set("nextitem", items[i + 1]);
  if (node.recursive) {
    loop.call =
        std::make_shared<const Function>([this, &node, depth](const Arguments& a) -> absl::StatusOr<Value> {
          std::string outer = std::exchange(output_, "");
          SLUICE_RETURN_IF_ERROR(
              RunLoop(node, a.positional.empty() ? Value() : a.positional[0], depth + 1).status());
          return budget_.Text(std::exchange(output_, std::move(outer)));
        });
  }
  return Value::Of(std::move(loop));
}

absl::StatusOr<List> Evaluator::LoopItems(const Node& node, const Value& iterable) {
  SLUICE_ASSIGN_OR_RETURN(List items, Iterate(iterable, budget_));
  if (node.condition == nullptr) return items;
  List kept;
  for (const Value& item : items) {
    scopes_.emplace_back();
    SLUICE_RETURN_IF_ERROR(Bind(node.names, item));
    SLUICE_ASSIGN_OR_RETURN(const Value passes, Eval(*node.condition));
    scopes_.pop_back();
    if (passes.Truthy()) kept.push_back(item);
  }
  return kept;
}

absl::StatusOr<Evaluator::Flow> Evaluator::RunFor(const Node& node) {
  SLUICE_ASSIGN_OR_RETURN(const Value iterable, Eval(*node.expr));
  return RunLoop(node, iterable, 0);
}

absl::StatusOr<Evaluator::Flow> Evaluator::RunLoop(const Node& node, const Value& iterable, int depth) {
  SLUICE_ASSIGN_OR_RETURN(const List items, LoopItems(node, iterable));
  if (items.empty()) return Run(node.otherwise);
  for (size_t i = 0; i < items.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(budget_.Charge(8));
    scopes_.emplace_back();
    SLUICE_RETURN_IF_ERROR(Bind(node.names, items[i]));
    scopes_.back()["loop"] = LoopObject(node, items, i, depth);
    SLUICE_ASSIGN_OR_RETURN(const Flow flow, Run(node.body));
    scopes_.pop_back();
    if (flow == Flow::kBreak) break;
  }
  return Flow::kNext;
}

absl::Status Evaluator::Bind(const std::vector<std::string>& names, const Value& value) {
  if (names.size() == 1) {
    scopes_.back()[names[0]] = value;
    return absl::OkStatus();
  }
  SLUICE_ASSIGN_OR_RETURN(const List items, Iterate(value, budget_));
  if (items.size() != names.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot unpack ", items.size(), " items to ", names.size()));
  }
  for (size_t i = 0; i < names.size(); ++i) scopes_.back()[names[i]] = items[i];
  return absl::OkStatus();
}

absl::Status Evaluator::RunSet(const Node& node) {
  Value value;
  if (node.kind == NodeKind::kSetBlock) {
    SLUICE_ASSIGN_OR_RETURN(std::string text, RunInto(node.body));
    SLUICE_ASSIGN_OR_RETURN(value, budget_.Text(std::move(text)));
  } else {
    SLUICE_ASSIGN_OR_RETURN(value, Eval(*node.expr));
  }
  if (node.member.empty()) return Bind(node.names, value);
  for (size_t i = scopes_.size(); i-- > 0;) {
    const auto found = scopes_[i].find(node.names[0]);
    if (found == scopes_[i].end()) continue;
    Object* object = found->second.object();
    if (object == nullptr || !object->is_namespace) break;
    SLUICE_RETURN_IF_ERROR(budget_.Charge(static_cast<int64_t>(object->members().size())));
    object->Set(node.member, value);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(node.names[0], " is not a namespace"));
}

absl::StatusOr<std::string> Evaluator::RunInto(const Block& block) {
  std::string outer = std::exchange(output_, "");
  SLUICE_RETURN_IF_ERROR(Run(block).status());
  return std::exchange(output_, std::move(outer));
}

absl::StatusOr<Value> Evaluator::CallMacro(const Node& node, const Arguments& arguments) {
  if (arguments.positional.size() > node.names.size()) {
    return absl::InvalidArgumentError(absl::StrCat("too many arguments for macro ", node.text));
  }
  Scope scope;
  for (size_t i = 0; i < node.names.size(); ++i) {
    std::optional<Value> value;
    if (i < arguments.positional.size()) value = arguments.positional[i];
    for (const auto& [name, named] : arguments.named) {
      if (name == node.names[i]) value = named;
    }
    if (!value.has_value() && node.defaults[i] != nullptr) {
      SLUICE_ASSIGN_OR_RETURN(value, Eval(*node.defaults[i]));
    }
    scope[node.names[i]] = value.has_value() ? *value : Value(Value::Variant(Undefined{node.names[i]}));
  }
  // A macro sees the template's variables and its own, not its caller's.
  std::vector<Scope> caller(std::make_move_iterator(scopes_.begin() + 1),
                            std::make_move_iterator(scopes_.end()));
  scopes_.resize(1);
  scopes_.push_back(std::move(scope));
  SLUICE_ASSIGN_OR_RETURN(std::string text, RunInto(node.body));
  scopes_.resize(1);
  scopes_.insert(scopes_.end(), std::make_move_iterator(caller.begin()),
                 std::make_move_iterator(caller.end()));
  return budget_.Text(std::move(text));
}

}  // namespace sluice::chat
