// Recursive descent over the words of a template (core/spec/template/ast.h).
#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/template/ast.h"
#include "core/spec/template/lexer.h"

namespace sluice::chat {
namespace {

constexpr int kMaxNesting = 100;
constexpr size_t kMaxTokens = 200'000;

using ParsedExpr = absl::StatusOr<ExprPtr>;
using ParsedNode = absl::StatusOr<std::unique_ptr<const Node>>;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  absl::StatusOr<Block> Run() {
    SLUICE_ASSIGN_OR_RETURN(Block block, ParseBlock({}));
    if (Peek().kind != TokenKind::kEnd) return Error("a closing statement without its beginning");
    return block;
  }

 private:
  // Counts one level of nesting while it lives.
  struct Level {
    explicit Level(int& depth) : depth_(depth) { ++depth_; }
    ~Level() { --depth_; }
    int& depth_;
  };

  const Token& Peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& Take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool Is(TokenKind kind, absl::string_view text) const { return Peek().kind == kind && Peek().text == text; }
  bool IsOp(absl::string_view text) const { return Is(TokenKind::kOperator, text); }
  bool IsName(absl::string_view text) const { return Is(TokenKind::kName, text); }
  bool TakeOp(absl::string_view text) { return IsOp(text) && (Take(), true); }
  bool TakeName(absl::string_view text) { return IsName(text) && (Take(), true); }
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat("chat template line ", Peek().line, ": ", what));
  }
  absl::Status Expect(absl::string_view op) {
    return TakeOp(op) ? absl::OkStatus()
                      : Error(absl::StrCat("expected '", op, "', found '", Peek().text, "'"));
  }
  absl::Status ExpectBlockEnd() {
    if (Peek().kind != TokenKind::kBlockEnd) return Error(absl::StrCat("unexpected '", Peek().text, "'"));
    Take();
    return absl::OkStatus();
  }
  absl::StatusOr<std::string> ExpectName() {
    if (Peek().kind != TokenKind::kName)
      return Error(absl::StrCat("expected a name, found '", Peek().text, "'"));
    return Take().text;
  }

  std::unique_ptr<Expr> Make(ExprKind kind, std::string text = "") const {
    auto expr = std::make_unique<Expr>();
    expr->kind = kind;
    expr->line = Peek().line;
    expr->text = std::move(text);
    return expr;
  }
  std::unique_ptr<Expr> Binary(std::string op, ExprPtr left, ExprPtr right) const {
    auto expr = Make(ExprKind::kBinary, std::move(op));
    expr->items.push_back(std::move(left));
    expr->items.push_back(std::move(right));
    return expr;
  }

  // Statements up to a block that begins with one of `ends`, which stays to be read.
  absl::StatusOr<Block> ParseBlock(const std::vector<absl::string_view>& ends) {
    if (depth_ > kMaxNesting) return Error("nested too deeply");
    Level level(depth_);
    Block block;
    while (Peek().kind != TokenKind::kEnd) {
      if (Peek().kind == TokenKind::kBlockBegin) {
        const std::string& word = Peek(1).text;
        if (std::find(ends.begin(), ends.end(), word) != ends.end()) return block;
        if (word.rfind("end", 0) == 0 || word == "else" || word == "elif") break;
      }
      SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<const Node> node, ParseNode());
      block.push_back(std::move(node));
    }
    if (!ends.empty()) return Error(absl::StrCat("expected {% ", ends.back(), " %}"));
    return block;
  }

  ParsedNode ParseNode() {
    links_ = 0;
    auto node = std::make_unique<Node>();
    node->line = Peek().line;
    if (Peek().kind == TokenKind::kText) {
      node->text = Take().text;
      return node;
    }
    if (Peek().kind == TokenKind::kOutputBegin) {
      Take();
      node->kind = NodeKind::kOutput;
      SLUICE_ASSIGN_OR_RETURN(node->expr, ParseTuple());
      if (Peek().kind != TokenKind::kOutputEnd) return Error(absl::StrCat("unexpected '", Peek().text, "'"));
      Take();
      return node;
    }
    if (Peek().kind != TokenKind::kBlockBegin) return Error("unexpected word outside a tag");
    Take();
    SLUICE_ASSIGN_OR_RETURN(const std::string word, ExpectName());
    if (word == "if") return ParseIf(std::move(node));
    if (word == "for") return ParseFor(std::move(node));
    if (word == "set") return ParseSet(std::move(node));
    if (word == "macro") return ParseMacro(std::move(node));
    if (word == "break" || word == "continue") {
      if (loops_ == 0) return Error(word + " outside a loop");
      node->kind = word == "break" ? NodeKind::kBreak : NodeKind::kContinue;
      SLUICE_RETURN_IF_ERROR(ExpectBlockEnd());
      return node;
    }
    if (word == "generation") {  // transformers' mark of assistant text; renders its body
      node->kind = NodeKind::kScope;
      SLUICE_RETURN_IF_ERROR(ExpectBlockEnd());
      SLUICE_ASSIGN_OR_RETURN(node->body, ParseBlock({"endgeneration"}));
      SLUICE_RETURN_IF_ERROR(End());
      return node;
    }
    return Error(absl::StrCat("the statement \"", word, "\" is not supported"));
  }

  // {% endX %}, whose name ParseBlock has seen.
  absl::Status End() {
    Take();
    Take();
    return ExpectBlockEnd();
  }

  ParsedNode ParseIf(std::unique_ptr<Node> node) {
    if (depth_ > kMaxNesting) return Error("nested too deeply");
    Level level(depth_);
    node->kind = NodeKind::kIf;
    SLUICE_ASSIGN_OR_RETURN(node->expr, ParseTuple());
    SLUICE_RETURN_IF_ERROR(ExpectBlockEnd());
    SLUICE_ASSIGN_OR_RETURN(node->body, ParseBlock({"elif", "else", "endif"}));
    Take();
    const std::string word = Take().text;
    if (word == "elif") {
      auto inner = std::make_unique<Node>();
      inner->line = Peek().line;
      SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<const Node> parsed, ParseIf(std::move(inner)));
      node->otherwise.push_back(std::move(parsed));
      return node;
    }
    SLUICE_RETURN_IF_ERROR(ExpectBlockEnd());
    if (word == "endif") return node;
    SLUICE_ASSIGN_OR_RETURN(node->otherwise, ParseBlock({"endif"}));
    SLUICE_RETURN_IF_ERROR(End());
    return node;
  }

  absl::StatusOr<std::vector<std::string>> ParseTargets() {
    std::vector<std::string> names;
    const bool bracket = TakeOp("(");
    do {
      SLUICE_ASSIGN_OR_RETURN(std::string name, ExpectName());
      names.push_back(std::move(name));
    } while (TakeOp(","));
    if (bracket) SLUICE_RETURN_IF_ERROR(Expect(")"));
    return names;
  }

  ParsedNode ParseFor(std::unique_ptr<Node> node) {
    node->kind = NodeKind::kFor;
    SLUICE_ASSIGN_OR_RETURN(node->names, ParseTargets());
    if (!TakeName("in")) return Error("expected 'in'");
    SLUICE_ASSIGN_OR_RETURN(node->expr, ParseOr());  // a conditional here would take the loop's "if"
    if (TakeName("if")) {
      SLUICE_ASSIGN_OR_RETURN(node->condition, ParseExpr());
    }
    node->recursive = TakeName("recursive");
    SLUICE_RETURN_IF_ERROR(ExpectBlockEnd());
    ++loops_;
    SLUICE_ASSIGN_OR_RETURN(node->body, ParseBlock({"else", "endfor"}));
    --loops_;
    Take();
    const std::string word = Take().text;
    SLUICE_RETURN_IF_ERROR(ExpectBlockEnd());
    if (word == "endfor") return node;
    SLUICE_ASSIGN_OR_RETURN(node->otherwise, ParseBlock({"endfor"}));
    SLUICE_RETURN_IF_ERROR(End());
    return node;
  }

  ParsedNode ParseSet(std::unique_ptr<Node> node) {
    node->kind = NodeKind::kSet;
    SLUICE_ASSIGN_OR_RETURN(node->names, ParseTargets());
    if (TakeOp(".")) {
      if (node->names.size() != 1) return Error("a namespace member among several names");
      SLUICE_ASSIGN_OR_RETURN(node->member, ExpectName());
    }
    if (TakeOp("=")) {
      SLUICE_ASSIGN_OR_RETURN(node->expr, ParseTuple());
      SLUICE_RETURN_IF_ERROR(ExpectBlockEnd());
      return node;
    }
    if (node->names.size() != 1 || !node->member.empty()) return Error("expected '='");
    node->kind = NodeKind::kSetBlock;
    SLUICE_RETURN_IF_ERROR(ExpectBlockEnd());
    SLUICE_ASSIGN_OR_RETURN(node->body, ParseBlock({"endset"}));
    SLUICE_RETURN_IF_ERROR(End());
    return node;
  }

  ParsedNode ParseMacro(std::unique_ptr<Node> node) {
    node->kind = NodeKind::kMacro;
    SLUICE_ASSIGN_OR_RETURN(node->text, ExpectName());
    SLUICE_RETURN_IF_ERROR(Expect("("));
    while (!IsOp(")")) {
      SLUICE_ASSIGN_OR_RETURN(std::string name, ExpectName());
      node->names.push_back(std::move(name));
      node->defaults.emplace_back();
      if (TakeOp("=")) {
        SLUICE_ASSIGN_OR_RETURN(node->defaults.back(), ParseExpr());
      }
      if (!TakeOp(",")) break;
    }
    SLUICE_RETURN_IF_ERROR(Expect(")"));
    SLUICE_RETURN_IF_ERROR(ExpectBlockEnd());
    const int loops = std::exchange(loops_, 0);
    SLUICE_ASSIGN_OR_RETURN(node->body, ParseBlock({"endmacro"}));
    loops_ = loops;
    SLUICE_RETURN_IF_ERROR(End());
    return node;
  }

  // a, b without brackets is a list.
  ParsedExpr ParseTuple() {
    SLUICE_ASSIGN_OR_RETURN(ExprPtr first, ParseExpr());
    if (!IsOp(",")) return first;
    auto list = Make(ExprKind::kList);
    list->items.push_back(std::move(first));
    while (TakeOp(",")) {
      SLUICE_ASSIGN_OR_RETURN(ExprPtr item, ParseExpr());
      list->items.push_back(std::move(item));
    }
    return list;
  }

  ParsedExpr ParseExpr() {
    if (depth_ > kMaxNesting) return Error("nested too deeply");
    Level level(depth_);
    SLUICE_ASSIGN_OR_RETURN(ExprPtr value, ParseOr());
    if (!TakeName("if")) return value;
    auto expr = Make(ExprKind::kConditional);
    expr->items.push_back(std::move(value));
    SLUICE_ASSIGN_OR_RETURN(ExprPtr condition, ParseOr());
    expr->items.push_back(std::move(condition));
    expr->items.emplace_back();
    if (TakeName("else")) {
      SLUICE_ASSIGN_OR_RETURN(expr->items.back(), ParseExpr());
    }
    return expr;
  }

  ParsedExpr ParseOr() {
    SLUICE_ASSIGN_OR_RETURN(ExprPtr left, ParseAnd());
    while (TakeName("or")) {
      SLUICE_ASSIGN_OR_RETURN(ExprPtr right, ParseAnd());
      left = Binary("or", std::move(left), std::move(right));
      SLUICE_RETURN_IF_ERROR(Chain());
    }
    return left;
  }

  ParsedExpr ParseAnd() {
    SLUICE_ASSIGN_OR_RETURN(ExprPtr left, ParseNot());
    while (TakeName("and")) {
      SLUICE_ASSIGN_OR_RETURN(ExprPtr right, ParseNot());
      left = Binary("and", std::move(left), std::move(right));
      SLUICE_RETURN_IF_ERROR(Chain());
    }
    return left;
  }

  ParsedExpr ParseNot() {
    if (!TakeName("not")) return ParseComparison();
    if (depth_ > kMaxNesting) return Error("nested too deeply");
    Level level(depth_);
    auto expr = Make(ExprKind::kUnary, "not");
    SLUICE_ASSIGN_OR_RETURN(ExprPtr operand, ParseNot());
    expr->items.push_back(std::move(operand));
    return expr;
  }

  // The comparison operator that comes next, taken; empty: none.
  std::string TakeComparison() {
    for (absl::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (TakeOp(op)) return std::string(op);
    }
    if (TakeName("in")) return "in";
    if (!IsName("not") || Peek(1).kind != TokenKind::kName || Peek(1).text != "in") return "";
    Take();
    Take();
    return "not in";
  }

  // a < b < c is a < b and b < c.
  ParsedExpr ParseComparison() {
    SLUICE_ASSIGN_OR_RETURN(ExprPtr left, ParseSum());
    std::string op = TakeComparison();
    if (op.empty()) return left;
    auto expr = Make(ExprKind::kCompare);
    expr->items.push_back(std::move(left));
    for (; !op.empty(); op = TakeComparison()) {
      SLUICE_ASSIGN_OR_RETURN(ExprPtr right, ParseSum());
      expr->named.emplace_back(op, std::move(right));
      SLUICE_RETURN_IF_ERROR(Chain());
    }
    return expr;
  }

  ParsedExpr ParseSum() {
    SLUICE_ASSIGN_OR_RETURN(ExprPtr left, ParseConcat());
    while (IsOp("+") || IsOp("-")) {
      const std::string op = Take().text;
      SLUICE_ASSIGN_OR_RETURN(ExprPtr right, ParseConcat());
      left = Binary(op, std::move(left), std::move(right));
      SLUICE_RETURN_IF_ERROR(Chain());
    }
    return left;
  }

  ParsedExpr ParseConcat() {
    SLUICE_ASSIGN_OR_RETURN(ExprPtr left, ParseProduct());
    while (TakeOp("~")) {
      SLUICE_ASSIGN_OR_RETURN(ExprPtr right, ParseProduct());
      left = Binary("~", std::move(left), std::move(right));
      SLUICE_RETURN_IF_ERROR(Chain());
    }
    return left;
  }

  ParsedExpr ParseProduct() {
    SLUICE_ASSIGN_OR_RETURN(ExprPtr left, ParseUnary());
    while (IsOp("*") || IsOp("/") || IsOp("//") || IsOp("%")) {
      const std::string op = Take().text;
      SLUICE_ASSIGN_OR_RETURN(ExprPtr right, ParseUnary());
      left = Binary(op, std::move(left), std::move(right));
      SLUICE_RETURN_IF_ERROR(Chain());
    }
    return left;
  }

  // A sign binds tighter than a filter: -1|abs is (-1)|abs, as in Jinja.
  ParsedExpr ParseUnary(bool with_filters = true) {
    if (depth_ > kMaxNesting) return Error("nested too deeply");
    Level level(depth_);
    ExprPtr value;
    if (IsOp("-") || IsOp("+")) {
      auto expr = Make(ExprKind::kUnary, Take().text);
      SLUICE_ASSIGN_OR_RETURN(ExprPtr operand, ParseUnary(false));
      expr->items.push_back(std::move(operand));
      value = std::move(expr);
    } else {
      SLUICE_ASSIGN_OR_RETURN(value, ParsePrimary());
      SLUICE_ASSIGN_OR_RETURN(value, ParsePostfix(std::move(value)));
    }
    if (!with_filters) return value;
    return ParseFilters(std::move(value));
  }

  // Long chains make deep trees, which are walked recursively.
  absl::Status Chain() {
    return ++links_ > kMaxLinks ? Error("too many operators in one expression") : absl::OkStatus();
  }

  ParsedExpr ParsePostfix(ExprPtr value) {
    while (true) {
      if (TakeOp(".")) {
        auto expr = Make(ExprKind::kAttribute);
        expr->items.push_back(std::move(value));
        if (Peek().kind == TokenKind::kInt) {
          expr->kind = ExprKind::kIndex;
          auto index = Make(ExprKind::kLiteral);
          int64_t number = 0;
          (void)absl::SimpleAtoi(Take().text, &number);  // the lexer checked it
          index->value = Value::Int(number);
          expr->items.push_back(std::move(index));
        } else {
          SLUICE_ASSIGN_OR_RETURN(expr->text, ExpectName());
        }
        value = std::move(expr);
      } else if (IsOp("[")) {
        SLUICE_ASSIGN_OR_RETURN(value, ParseSubscript(std::move(value)));
      } else if (IsOp("(")) {
        auto expr = Make(ExprKind::kCall);
        expr->items.push_back(std::move(value));
        SLUICE_RETURN_IF_ERROR(ParseArguments(*expr));
        value = std::move(expr);
      } else {
        return value;
      }
      SLUICE_RETURN_IF_ERROR(Chain());
    }
  }

  ParsedExpr ParseSubscript(ExprPtr value) {
    Take();
    auto expr = Make(ExprKind::kIndex);
    expr->items.push_back(std::move(value));
    ExprPtr first;
    if (!IsOp(":")) {
      SLUICE_ASSIGN_OR_RETURN(first, ParseExpr());
    }
    expr->items.push_back(std::move(first));
    while (IsOp(":") && expr->items.size() < 4) {
      Take();
      expr->kind = ExprKind::kSlice;
      ExprPtr bound;
      if (!IsOp(":") && !IsOp("]")) {
        SLUICE_ASSIGN_OR_RETURN(bound, ParseExpr());
      }
      expr->items.push_back(std::move(bound));
    }
    if (expr->kind == ExprKind::kSlice) expr->items.resize(4);
    SLUICE_RETURN_IF_ERROR(Expect("]"));
    return expr;
  }

  absl::Status ParseArguments(Expr& call) {
    SLUICE_RETURN_IF_ERROR(Expect("("));
    while (!IsOp(")")) {
      const bool named =
          Peek().kind == TokenKind::kName && Peek(1).kind == TokenKind::kOperator && Peek(1).text == "=";
      std::string name;
      if (named) {
        name = Take().text;
        Take();
      } else if (!call.named.empty()) {
        return Error("an argument by place after one by name");
      }
      SLUICE_ASSIGN_OR_RETURN(ExprPtr argument, ParseExpr());
      if (named) {
        call.named.emplace_back(std::move(name), std::move(argument));
      } else {
        call.items.push_back(std::move(argument));
      }
      if (!TakeOp(",")) break;
    }
    return Expect(")");
  }

  ParsedExpr ParseFilters(ExprPtr value) {
    while (true) {
      if (TakeOp("|")) {
        auto expr = Make(ExprKind::kFilter);
        expr->items.push_back(std::move(value));
        SLUICE_ASSIGN_OR_RETURN(expr->text, ExpectName());
        if (IsOp("(")) SLUICE_RETURN_IF_ERROR(ParseArguments(*expr));
        value = std::move(expr);
      } else if (TakeName("is")) {
        SLUICE_ASSIGN_OR_RETURN(value, ParseTest(std::move(value)));
      } else {
        return value;
      }
      SLUICE_RETURN_IF_ERROR(Chain());
    }
  }

  bool BeginsTestArgument() const {
    const TokenKind kind = Peek().kind;
    if (kind == TokenKind::kString || kind == TokenKind::kInt || kind == TokenKind::kFloat) return true;
    if (kind != TokenKind::kName) return IsOp("[") || IsOp("{");
    for (absl::string_view word : {"else", "or", "and", "is", "if", "not", "in", "recursive"}) {
      if (Peek().text == word) return false;
    }
    return true;
  }

  ParsedExpr ParseTest(ExprPtr value) {
    const bool negated = TakeName("not");
    auto expr = Make(ExprKind::kTest);
    expr->items.push_back(std::move(value));
    SLUICE_ASSIGN_OR_RETURN(expr->text, ExpectName());
    if (IsOp("(")) {
      SLUICE_RETURN_IF_ERROR(ParseArguments(*expr));
    } else if (BeginsTestArgument()) {  // x is divisibleby 3
      SLUICE_ASSIGN_OR_RETURN(ExprPtr argument, ParsePrimary());
      SLUICE_ASSIGN_OR_RETURN(argument, ParsePostfix(std::move(argument)));
      expr->items.push_back(std::move(argument));
    }
    if (!negated) return expr;
    auto inverse = Make(ExprKind::kUnary, "not");
    inverse->items.push_back(std::move(expr));
    return inverse;
  }

  ParsedExpr ParsePrimary() {
    auto expr = Make(ExprKind::kLiteral);
    const TokenKind kind = Peek().kind;
    if (kind == TokenKind::kString) {
      std::string text = Take().text;
      while (Peek().kind == TokenKind::kString) text += Take().text;
      expr->value = Value::Of(text);
    } else if (kind == TokenKind::kInt) {
      int64_t number = 0;
      (void)absl::SimpleAtoi(Take().text, &number);  // the lexer checked it
      expr->value = Value::Int(number);
    } else if (kind == TokenKind::kFloat) {
      double number = 0;
      (void)absl::SimpleAtod(Take().text, &number);
      expr->value = Value(Value::Variant(number));
    } else if (kind == TokenKind::kName) {
      const std::string name = Take().text;
      if (name == "true" || name == "True") {
        expr->value = Value::Bool(true);
      } else if (name == "false" || name == "False") {
        expr->value = Value::Bool(false);
      } else if (name == "none" || name == "None") {
        expr->value = Value(Value::Variant(None{}));
      } else {
        expr->kind = ExprKind::kName;
        expr->text = name;
      }
    } else if (IsOp("(")) {
      return ParseBracket();
    } else if (IsOp("[")) {
      Take();
      expr->kind = ExprKind::kList;
      SLUICE_RETURN_IF_ERROR(ParseItems("]", false, *expr));
    } else if (IsOp("{")) {
      Take();
      expr->kind = ExprKind::kDict;
      SLUICE_RETURN_IF_ERROR(ParseItems("}", true, *expr));
    } else {
      return Error(absl::StrCat("expected a value, found '", Peek().text, "'"));
    }
    return expr;
  }

  ParsedExpr ParseBracket() {
    Take();
    if (TakeOp(")")) return Make(ExprKind::kList);
    SLUICE_ASSIGN_OR_RETURN(ExprPtr value, ParseExpr());
    if (TakeOp(",")) {
      auto list = Make(ExprKind::kList);
      list->items.push_back(std::move(value));
      SLUICE_RETURN_IF_ERROR(ParseItems(")", false, *list));
      return list;
    }
    SLUICE_RETURN_IF_ERROR(Expect(")"));
    return value;
  }

  absl::Status ParseItems(absl::string_view close, bool pairs, Expr& out) {
    while (!IsOp(close)) {
      SLUICE_ASSIGN_OR_RETURN(ExprPtr item, ParseExpr());
      out.items.push_back(std::move(item));
      if (pairs) {
        SLUICE_RETURN_IF_ERROR(Expect(":"));
        SLUICE_ASSIGN_OR_RETURN(ExprPtr value, ParseExpr());
        out.items.push_back(std::move(value));
      }
      if (!TakeOp(",")) break;
    }
    return Expect(close);
  }

  static constexpr int kMaxLinks = 1000;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0, loops_ = 0, links_ = 0;
};

}  // namespace

absl::StatusOr<Block> ParseTemplate(absl::string_view source) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<Token> tokens, LexTemplate(source));
  if (tokens.size() > kMaxTokens) return absl::ResourceExhaustedError("chat template: too many words");
  return Parser(std::move(tokens)).Run();
}

}  // namespace sluice::chat
