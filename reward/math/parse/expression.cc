#include "reward/math/parse/expression.h"

#include <array>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sluice::math {
namespace {

constexpr size_t kMaxBytes = 4096;

// How tightly a printed expression holds together; a looser one inside a tighter one gets parentheses.
enum Tightness { kStatement, kSetTerm, kSumTerm, kFactor, kAtom };

// Bytes that are no printable ASCII as \xNN.
std::string Printable(absl::string_view text) {
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      out.push_back(c);
    } else {
      absl::StrAppend(&out, "\\x", absl::Hex(byte, absl::kZeroPad2));
    }
  }
  return out;
}

const char* Sign(Relation relation) {
  static constexpr std::array<const char*, 9> kSigns = {" = ",  " != ", " < ", " <= ",    " > ",
                                                        " >= ", " in ", " ~ ", " not in "};
  return kSigns[static_cast<size_t>(relation)];
}

bool IsNegativeNumber(const Expression& e) { return e.kind == Kind::kNumber && *e.number < 0; }

class Printer {
 public:
  void Print(const Expression& e, Tightness needed) {
    if (out_.size() > kMaxBytes) return;
    bool brackets = TightnessOf(e) < needed;
    if (brackets) out_ += '(';
    Bare(e);
    if (brackets) out_ += ')';
  }

  std::string Take() {
    if (out_.size() > kMaxBytes) {
      out_.resize(kMaxBytes);
      out_ += "...";
    }
    return std::move(out_);
  }

 private:
  static Tightness TightnessOf(const Expression& e) {
    switch (e.kind) {
      case Kind::kRelation:
      case Kind::kList:
        return kStatement;
      case Kind::kUnion:
      case Kind::kIntersection:
      case Kind::kDifference:
        return kSetTerm;
      case Kind::kSum:
      case Kind::kPlusMinus:
        return kSumTerm;
      case Kind::kProduct:
        return kFactor;
      case Kind::kNumber:
        if (e.number->get_den() != 1) return kFactor;
        return IsNegativeNumber(e) ? kSumTerm : kAtom;
      case Kind::kPower:
        return kFactor;
      default:
        return kAtom;
    }
  }

  void Bare(const Expression& e) {
    switch (e.kind) {
      case Kind::kNumber:
        out_ += e.number->get_str();
        return;
      case Kind::kSymbol:
        out_ += Printable(e.name);
        return;
      case Kind::kText:
        absl::StrAppend(&out_, "\"", Printable(e.name), "\"");
        return;
      case Kind::kSum:
        return Joined(e, " + ", kSumTerm);
      case Kind::kProduct:
        return Joined(e, "*", kFactor);
      case Kind::kPower:
        Print(e.args[0], kAtom);
        out_ += '^';
        return Print(e.args[1], kAtom);
      case Kind::kPlusMinus:
        if (e.args.size() == 2) Print(e.args[0], kSumTerm);
        out_ += e.args.size() == 2 ? " +- " : "+-";
        return Print(e.args.back(), kFactor);
      case Kind::kRelation:
        for (size_t i = 0; i < e.args.size(); ++i) {
          if (i > 0) out_ += Sign(e.relations[i - 1]);
          Print(e.args[i], kSetTerm);
        }
        return;
      default:
        return Collection(e);
    }
  }

  void Collection(const Expression& e) {
    switch (e.kind) {
      case Kind::kFunction:
        return Enclosed(e, absl::StrCat(Printable(e.name), "("), ")");
      case Kind::kTuple:
        return Enclosed(e, "(", ")");
      case Kind::kInterval:
        return Enclosed(e, e.closed_left ? "[" : e.closed_right ? "(" : "open (", e.closed_right ? "]" : ")");
      case Kind::kSet:
        return Enclosed(e, "{", "}");
      case Kind::kMatrix:
        return Matrix(e);
      case Kind::kUnion:
        return Joined(e, " union ", kSumTerm);
      case Kind::kIntersection:
        return Joined(e, " intersect ", kSumTerm);
      case Kind::kDifference:
        return Joined(e, " \\ ", kSumTerm);
      default:
        return Joined(e, ", ", kSetTerm);
    }
  }

  void Joined(const Expression& e, const char* between, Tightness needed) {
    for (size_t i = 0; i < e.args.size() && out_.size() <= kMaxBytes; ++i) {
      if (i > 0) out_ += between;
      Print(e.args[i], needed);
    }
  }

  void Enclosed(const Expression& e, const std::string& open, const char* close) {
    out_ += open;
    Joined(e, ", ", kSetTerm);
    out_ += close;
  }

  void Matrix(const Expression& e) {
    out_ += '[';
    for (size_t i = 0; i < e.args.size() && out_.size() <= kMaxBytes; ++i) {
      bool starts_row = e.columns > 0 && i % static_cast<size_t>(e.columns) == 0;
      if (i > 0) out_ += starts_row ? "; " : ", ";
      Print(e.args[i], kSetTerm);
    }
    out_ += ']';
  }

  std::string out_;
};

}  // namespace

std::string ToText(const Expression& expression) {
  Printer printer;
  printer.Print(expression, kStatement);
  return printer.Take();
}

std::string ToText(const Reading& reading) {
  std::string out = ToText(reading.value);
  if (reading.percent) out += " %";
  if (!reading.unit.empty()) absl::StrAppend(&out, " [", Printable(reading.unit), "]");
  if (reading.base != 0) absl::StrAppend(&out, " (written in base ", reading.base, ")");
  if (!reading.name.empty()) absl::StrAppend(&out, " (of ", Printable(reading.name), ")");
  if (!reading.choice.empty()) absl::StrAppend(&out, " (choice ", Printable(reading.choice), ")");
  if (reading.hedged) out += " (hedged)";
  return out;
}

Relation Reversed(Relation relation) {
  switch (relation) {
    case Relation::kLess:
      return Relation::kGreater;
    case Relation::kLessEqual:
      return Relation::kGreaterEqual;
    case Relation::kGreater:
      return Relation::kLess;
    case Relation::kGreaterEqual:
      return Relation::kLessEqual;
    default:
      return relation;
  }
}

}  // namespace sluice::math
