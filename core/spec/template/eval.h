// Runs a parsed chat template. One object serves one rendering.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "core/spec/template/ast.h"
#include "core/spec/template/builtins.h"
#include "core/spec/template/value.h"

namespace sluice::chat {

class Evaluator {
 public:
  explicit Evaluator(std::map<std::string, Value> globals);
  ~Evaluator();
  // The rendered text; errors name the line.
  absl::StatusOr<std::string> Render(const Block& block);

 private:
  using Scope = std::map<std::string, Value>;
  enum class Flow { kNext, kBreak, kContinue };

  absl::StatusOr<Flow> Run(const Block& block);
  absl::StatusOr<Flow> RunNode(const Node& node);
  absl::StatusOr<Flow> RunFor(const Node& node);
  absl::StatusOr<Flow> RunLoop(const Node& node, const Value& iterable, int depth);
  absl::StatusOr<List> LoopItems(const Node& node, const Value& iterable);
  Value LoopObject(const Node& node, const List& items, size_t i, int depth);
  absl::Status RunSet(const Node& node);
  absl::StatusOr<std::string> RunInto(const Block& block);  // renders apart
  absl::StatusOr<Value> CallMacro(const Node& node, const Arguments& arguments);
  absl::Status Bind(const std::vector<std::string>& names, const Value& value);
  absl::Status Write(absl::string_view text);

  absl::StatusOr<Value> Eval(const Expr& expr);
  absl::StatusOr<Value> EvalKind(const Expr& expr);
  absl::StatusOr<Value> EvalName(const Expr& expr);
  absl::StatusOr<Value> EvalIndex(const Expr& expr);
  absl::StatusOr<Value> EvalSlice(const Expr& expr);
  absl::StatusOr<Value> EvalCall(const Expr& expr);
  absl::StatusOr<Value> EvalUnary(const Expr& expr);
  absl::StatusOr<Value> EvalBinary(const Expr& expr);
  absl::StatusOr<Value> EvalCompare(const Expr& expr);
  absl::StatusOr<Value> EvalCollection(const Expr& expr);
  absl::StatusOr<Value> Repeat(const Value& a, const Value& b);
  absl::StatusOr<Value> Add(const Value& a, const Value& b);
  absl::StatusOr<Arguments> EvalArguments(const Expr& expr);
  absl::StatusOr<Value> MakeNamespace(const Arguments& arguments);
  absl::StatusOr<Value> MakeRange(const Arguments& arguments);

  Budget budget_;
  std::vector<Scope> scopes_;
  std::string output_;
  int depth_ = 0;
  std::vector<std::shared_ptr<Object>> namespaces_;  // emptied at the end: they may refer to each other
};

}  // namespace sluice::chat
