#include "reward/math/parse/readings.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "reward/math/parse/build.h"

namespace sluice::math {
namespace {

bool IsPlainSymbol(const Expression& e) {
  return e.kind == Kind::kSymbol && e.name != "pi" && e.name != "e" && e.name != "infinity" &&
         e.name != "...";
}

bool AllOf(const std::vector<Expression>& args, bool (*holds)(const Expression&)) {
  return !args.empty() && std::all_of(args.begin(), args.end(), holds);
}

// "y" of "x/y".
bool IsBelowLine(const Expression& e) {
  if (e.kind != Kind::kPower || !IsNumber(e.args[1]) || *e.args[1].number != -1) return false;
  const Expression& below = e.args[0];
  return IsPlainSymbol(below) || (below.kind == Kind::kProduct && AllOf(below.args, IsPlainSymbol));
}

// What a value is given to: "x", "f(x)", "AB", "a + b", "x/y", "(x, y)", "|z|", "\sin A", "A \cap B".
bool IsName(const Expression& e) {
  switch (e.kind) {
    case Kind::kSymbol:
      return IsPlainSymbol(e);
    case Kind::kSum:
    case Kind::kTuple:
    case Kind::kUnion:
    case Kind::kIntersection:
    case Kind::kDifference:
      return AllOf(e.args, IsPlainSymbol);
    case Kind::kProduct:
      return AllOf(e.args, [](const Expression& a) {
        return IsPlainSymbol(a) || IsBelowLine(a) ||
               (a.kind == Kind::kProduct && AllOf(a.args, IsPlainSymbol));
      });
    case Kind::kFunction:
      return AllOf(e.args, [](const Expression& a) { return IsNumber(a) || IsName(a); });
    default:
      return false;
  }
}

bool HasSymbols(const Expression& e) {
  if (IsPlainSymbol(e) && e.name != "i") return true;
  return std::any_of(e.args.begin(), e.args.end(), HasSymbols);
}

bool IsEquation(const Expression& e) {
  return e.kind == Kind::kRelation && e.relations.size() == 1 && e.relations[0] == Relation::kEqual;
}

bool IsSetLike(const Expression& e) {
  if (e.kind == Kind::kRelation)
    return e.relations[0] != Relation::kEqual && e.relations[0] != Relation::kApproximately;
  return e.kind == Kind::kInterval || e.kind == Kind::kUnion || e.kind == Kind::kIntersection ||
         (e.kind == Kind::kSet && e.args.empty());
}

bool IsMembership(const Expression& e) {
  return e.kind == Kind::kRelation && e.relations.size() == 1 && e.relations[0] == Relation::kIn;
}

// "k \in \mathbb{Z}"
bool IsIntegerDomain(const Expression& e) {
  return IsMembership(e) && IsPlainSymbol(e.args[0]) && IsSymbol(e.args[1], "set Z");
}

// False where both are numbers and the second is no rounding of the first: "8 ~ 9" gives two answers. One
// part in twenty, or half a unit of a whole number, is let pass.
bool MayRoundTo(const Expression& exact, const Expression& rounded) {
  if (!IsNumber(exact) || !IsNumber(rounded)) return true;
  mpq_class difference = abs(*exact.number - *rounded.number);
  bool whole = rounded.number->get_den() == 1;
  return 20 * difference <= abs(*exact.number) || (whole && 2 * difference <= 1);
}

class Appender {
 public:
  Appender(Parsed parsed, std::vector<Reading>* out) : parsed_(std::move(parsed)), out_(*out) {}

  void Run() {
    DropDomain();
    const bool system = parsed_.items.size() == 1 && parsed_.items[0].kind == Kind::kList;
    if (system) {  // of "cases"
      std::vector<Expression> lines = std::move(parsed_.items[0].args);
      parsed_.items = std::move(lines);
    }
    if (parsed_.items.size() > 1) return Several();
    Expression& item = parsed_.items[0];
    item.kind == Kind::kRelation ? Statement(std::move(item)) : Add(std::move(item));
  }

 private:
  void Add(Expression value, std::string name = {}) {
    Reading r;
    r.value = std::move(value);
    r.name = std::move(name);
    r.percent = parsed_.percent;
    r.decimal = parsed_.decimal;
    r.unit = parsed_.unit;
    r.doubt = parsed_.doubt;
    r.base = parsed_.base;
    r.parameter = parsed_.parameter;
    r.hedged = hedged_;
    out_.push_back(std::move(r));
  }

  void Statement(Expression e) {
    for (size_t i = 0; i < e.relations.size(); ++i) {
      if (e.relations[i] != Relation::kApproximately) continue;
      hedged_ = hedged_ || !MayRoundTo(e.args[i], e.args[i + 1]);
      if (i > 0) Cut(e, i);
    }
    Relation last = e.relations.back();
    const Expression& left = e.args.front();
    const Expression& right = e.args.back();
    bool equal =
        std::all_of(e.relations.begin(), e.relations.end(), [](Relation r) { return r == Relation::kEqual; });
    if (e.relations.size() == 1 && last == Relation::kApproximately) {
      Add(IsName(left) ? right : left, IsName(left) ? ToText(left) : "");
    } else if (e.relations.size() == 1 && last == Relation::kIn && IsName(left)) {
      Add(right, ToText(left));
    } else if (equal && IsName(left)) {
      return Given(std::move(e));
    } else if (equal && e.relations.size() == 1 && !HasSymbols(left) &&
               (IsPlainSymbol(right) || (right.kind == Kind::kFunction && IsName(right)))) {
      Add(left, ToText(right));
    }
    Add(std::move(e));
  }

  // "x = 5": the value is likelier what is asked for; "y = 2x": the equation is.
  void Given(Expression e) {
    std::string name = ToText(e.args.front());
    Expression value = e.args.back();
    bool equation_first = HasSymbols(value) && e.relations.size() == 1;
    if (equation_first) Add(e);
    Add(std::move(value), std::move(name));
    if (!equation_first) Add(std::move(e));
  }

  // Drops what stands behind the relation numbered `i`.
  static void Cut(Expression& e, size_t i) {
    e.relations.resize(i);
    e.args.resize(i + 1);
  }

  void Several() {
    std::vector<Expression>& items = parsed_.items;
    bool sets = AllOf(items, IsSetLike);
    if (sets && (parsed_.joints.or_word || parsed_.joints.and_word)) {
      bool relations = items[0].kind == Kind::kRelation;
      bool both = relations && parsed_.joints.and_word && !parsed_.joints.or_word;
      return Add(ListOf(both ? Kind::kIntersection : Kind::kUnion, std::move(items)));
    }
    if (parsed_.joints.logical && !AllOf(items, IsEquation)) {
      Expression statement = ListOf(Kind::kFunction, std::move(items));
      statement.name = parsed_.joints.or_word ? "or" : "and";
      return Add(std::move(statement));
    }
    hedged_ = parsed_.joints.or_word;
    if (OneName()) return;
    ExcludeBareValues();
    if (!AllOf(items, [](const Expression& e) { return IsEquation(e) && IsName(e.args[0]); })) {
      return Add(ListOf(Kind::kList, std::move(items)));
    }
    std::string names;
    std::vector<Expression> values;
    for (const Expression& e : items) {
      names += (names.empty() ? "" : ", ") + ToText(e.args[0]);
      values.push_back(e.args[1]);
    }
    Add(ListOf(Kind::kList, std::move(items)));
    Add(ListOf(Kind::kList, std::move(values)), std::move(names));
  }

  // "k \pi, k \in \mathbb{Z}": what the letters beside it stand for is no answer.
  void DropDomain() {
    std::vector<Expression>& items = parsed_.items;
    if (IsMembership(items[0])) return;
    while (items.size() > 1 && IsIntegerDomain(items.back())) items.pop_back();
  }

  // "x != 2, 3": the relation holds for what follows it.
  void ExcludeBareValues() {
    std::vector<Expression>& items = parsed_.items;
    bool excludes = items[0].kind == Kind::kRelation && items[0].relations.size() == 1 &&
                    items[0].relations[0] == Relation::kNotEqual;
    for (size_t i = 1; excludes && i < items.size(); ++i) {
      if (items[i].kind == Kind::kRelation) continue;
      Expression relation = NodeOf(Kind::kRelation, items[0].args[0], std::move(items[i]));
      relation.relations = {Relation::kNotEqual};
      items[i] = std::move(relation);
    }
  }

  // "x = 2, 3" and "x = 2 or x = 3": the values of one name.
  bool OneName() {
    std::vector<Expression>& items = parsed_.items;
    if (!IsEquation(items[0]) || !IsName(items[0].args[0])) return false;
    std::string name = ToText(items[0].args[0]);
    for (size_t i = 1; i < items.size(); ++i) {
      bool same = IsEquation(items[i]) && ToText(items[i].args[0]) == name;
      if (items[i].kind == Kind::kRelation && !same) return false;
    }
    for (Expression& e : items) {
      if (e.kind != Kind::kRelation) continue;
      Expression value = std::move(e.args[1]);
      e = std::move(value);
    }
    Add(ListOf(Kind::kList, std::move(items)), std::move(name));
    return true;
  }

  Parsed parsed_;
  std::vector<Reading>& out_;
  bool hedged_ = false;
};

}  // namespace

void AppendReadings(Parsed parsed, std::vector<Reading>* readings) {
  Appender(std::move(parsed), readings).Run();
}

}  // namespace sluice::math
