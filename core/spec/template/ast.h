// Syntax trees of chat templates (the part of Jinja that released models use) and their parser.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/spec/template/value.h"

namespace sluice::chat {

struct Expr;
using ExprPtr = std::unique_ptr<const Expr>;

enum class ExprKind {
  kLiteral,      // value
  kName,         // text
  kList,         // items
  kDict,         // items: key, value, key, value, ...
  kAttribute,    // items[0].text
  kIndex,        // items[0][items[1]]
  kSlice,        // items[0][items[1]:items[2]:items[3]]; absent ones are null
  kCall,         // items[0](items[1..], named)
  kFilter,       // items[0] | text(items[1..], named)
  kTest,         // items[0] is text(items[1..])
  kUnary,        // text: not, -, +
  kBinary,       // text: + - * / // % ~ and or
  kCompare,      // items[0] op operand op operand ..., the pairs in named: == != < <= > >= in "not in"
  kConditional,  // items[0] if items[1] else items[2] (null: undefined)
};

struct Expr {
  ExprKind kind = ExprKind::kLiteral;
  int line = 0;
  std::string text;
  Value value;
  std::vector<ExprPtr> items;
  std::vector<std::pair<std::string, ExprPtr>> named;
};

struct Node;
using Block = std::vector<std::unique_ptr<const Node>>;

enum class NodeKind { kText, kOutput, kIf, kFor, kSet, kSetBlock, kMacro, kBreak, kContinue, kScope };

struct Node {
  NodeKind kind = NodeKind::kText;
  int line = 0;
  std::string text;                // kText; name of kSet (namespace member: "ns.name") and kMacro
  std::vector<std::string> names;  // kFor: targets; kSet: targets; kMacro: parameters
  std::string member;              // kSet: the member of a namespace
  ExprPtr expr;                    // kOutput, kSet, kIf condition, kFor iterable
  ExprPtr condition;               // kFor: "if" of the loop
  bool recursive = false;          // kFor: its body may call loop(items)
  std::vector<ExprPtr> defaults;   // kMacro: by parameter; null: none
  Block body, otherwise;           // kIf, kFor, kMacro, kScope
};

// INVALID_ARGUMENT naming the line for what is not understood. Nesting, size and number of nodes are bounded.
absl::StatusOr<Block> ParseTemplate(absl::string_view source);

}  // namespace sluice::chat
