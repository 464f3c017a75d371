#include "reward/math/text/words.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "absl/strings/ascii.h"

namespace sluice::math {
namespace {

using absl::string_view;

struct SpelledEntry {
  string_view word;
  TokenKind kind;
  string_view text;
};
struct RoleEntry {
  string_view word;
  WordRole role;
};
struct ValueEntry {
  string_view word;
  int value;
};

// All sorted by word.
constexpr SpelledEntry kSpelled[] = {
    {"abs", TokenKind::kFunction, "abs"},
    {"acos", TokenKind::kFunction, "arccos"},
    {"acosh", TokenKind::kFunction, "arccosh"},
    {"alpha", TokenKind::kSymbol, "alpha"},
    {"arccos", TokenKind::kFunction, "arccos"},
    {"arccot", TokenKind::kFunction, "arccot"},
    {"arccsc", TokenKind::kFunction, "arccsc"},
    {"arcsec", TokenKind::kFunction, "arcsec"},
    {"arcsin", TokenKind::kFunction, "arcsin"},
    {"arctan", TokenKind::kFunction, "arctan"},
    {"arsinh", TokenKind::kFunction, "arcsinh"},
    {"asin", TokenKind::kFunction, "arcsin"},
    {"asinh", TokenKind::kFunction, "arcsinh"},
    {"atan", TokenKind::kFunction, "arctan"},
    {"atanh", TokenKind::kFunction, "arctanh"},
    {"beta", TokenKind::kSymbol, "beta"},
    {"binom", TokenKind::kBinomial, ""},
    {"binomial", TokenKind::kFunction, "binomial"},
    {"cbrt", TokenKind::kCubeRoot, ""},
    {"cdot", TokenKind::kTimes, ""},
    {"ceil", TokenKind::kFunction, "ceil"},
    {"ceiling", TokenKind::kFunction, "ceil"},
    {"choose", TokenKind::kFunction, "binomial"},
    {"cis", TokenKind::kFunction, "cis"},
    {"cos", TokenKind::kFunction, "cos"},
    {"cosec", TokenKind::kFunction, "csc"},
    {"cosh", TokenKind::kFunction, "cosh"},
    {"cot", TokenKind::kFunction, "cot"},
    {"coth", TokenKind::kFunction, "coth"},
    {"csc", TokenKind::kFunction, "csc"},
    {"deg", TokenKind::kDegree, ""},
    {"degree", TokenKind::kDegree, ""},
    {"degrees", TokenKind::kDegree, ""},
    {"delta", TokenKind::kSymbol, "delta"},
    {"det", TokenKind::kFunction, "det"},
    {"dfrac", TokenKind::kFraction, ""},
    {"epsilon", TokenKind::kSymbol, "epsilon"},
    {"exp", TokenKind::kFunction, "exp"},
    {"factorial", TokenKind::kFunction, "factorial"},
    {"floor", TokenKind::kFunction, "floor"},
    {"frac", TokenKind::kFraction, ""},
    {"gamma", TokenKind::kSymbol, "gamma"},
    {"gcd", TokenKind::kFunction, "gcd"},
    {"hcf", TokenKind::kFunction, "gcd"},
    {"inf", TokenKind::kSymbol, "infinity"},
    {"infinity", TokenKind::kSymbol, "infinity"},
    {"infty", TokenKind::kSymbol, "infinity"},
    {"intersect", TokenKind::kIntersection, ""},
    {"intersection", TokenKind::kIntersection, ""},
    {"lambda", TokenKind::kSymbol, "lambda"},
    {"lcm", TokenKind::kFunction, "lcm"},
    {"lg", TokenKind::kFunction, "lg"},
    {"ln", TokenKind::kFunction, "ln"},
    {"log", TokenKind::kFunction, "log"},
    {"max", TokenKind::kFunction, "max"},
    {"min", TokenKind::kFunction, "min"},
    {"minus", TokenKind::kMinus, ""},
    {"mod", TokenKind::kMod, ""},
    {"mu", TokenKind::kSymbol, "mu"},
    {"omega", TokenKind::kSymbol, "omega"},
    {"oo", TokenKind::kSymbol, "infinity"},
    {"phi", TokenKind::kSymbol, "phi"},
    {"pi", TokenKind::kSymbol, "pi"},
    {"plus", TokenKind::kPlus, ""},
    {"rho", TokenKind::kSymbol, "rho"},
    {"sec", TokenKind::kFunction, "sec"},
    {"sigma", TokenKind::kSymbol, "sigma"},
    {"sin", TokenKind::kFunction, "sin"},
    {"sinh", TokenKind::kFunction, "sinh"},
    {"sqrt", TokenKind::kRoot, ""},
    {"tan", TokenKind::kFunction, "tan"},
    {"tanh", TokenKind::kFunction, "tanh"},
    {"tau", TokenKind::kSymbol, "tau"},
    {"theta", TokenKind::kSymbol, "theta"},
    {"times", TokenKind::kTimes, ""},
    {"union", TokenKind::kUnion, ""},
};
constexpr RoleEntry kRoles[] = {
    {"about", WordRole::kFiller},
    {"all", WordRole::kClause},
    {"alternatively", WordRole::kNegation},
    {"always", WordRole::kWord},
    {"and", WordRole::kAnd},
    {"any", WordRole::kClause},
    {"approx", WordRole::kFiller},
    {"approximately", WordRole::kFiller},
    {"april", WordRole::kDate},
    {"are", WordRole::kClause},
    {"around", WordRole::kFiller},
    {"assuming", WordRole::kClause},
    {"august", WordRole::kDate},
    {"bag", WordRole::kWord},
    {"bags", WordRole::kWord},
    {"be", WordRole::kClause},
    {"because", WordRole::kClause},
    {"billion", WordRole::kScale},
    {"billions", WordRole::kScale},
    {"black", WordRole::kWord},
    {"blue", WordRole::kWord},
    {"bn", WordRole::kScale},
    {"both", WordRole::kFiller},
    {"box", WordRole::kWord},
    {"boxes", WordRole::kWord},
    {"boy", WordRole::kWord},
    {"boys", WordRole::kWord},
    {"bus", WordRole::kWord},
    {"but", WordRole::kClause},
    {"cannot", WordRole::kNegation},
    {"car", WordRole::kWord},
    {"cars", WordRole::kWord},
    {"cat", WordRole::kWord},
    {"cats", WordRole::kWord},
    {"circle", WordRole::kWord},
    {"composite", WordRole::kWord},
    {"convergent", WordRole::kWord},
    {"converges", WordRole::kWord},
    {"cow", WordRole::kWord},
    {"cows", WordRole::kWord},
    {"crore", WordRole::kScale},
    {"crores", WordRole::kScale},
    {"cup", WordRole::kWord},
    {"cups", WordRole::kWord},
    {"day", WordRole::kWord},
    {"days", WordRole::kWord},
    {"december", WordRole::kDate},
    {"decreasing", WordRole::kWord},
    {"divergent", WordRole::kWord},
    {"diverges", WordRole::kWord},
    {"dog", WordRole::kWord},
    {"dogs", WordRole::kWord},
    {"down", WordRole::kWord},
    {"dozen", WordRole::kScale},
    {"dozens", WordRole::kScale},
    {"each", WordRole::kClause},
    {"east", WordRole::kWord},
    {"egg", WordRole::kWord},
    {"eggs", WordRole::kWord},
    {"eight", WordRole::kWord},
    {"either", WordRole::kFiller},
    {"ellipse", WordRole::kWord},
    {"else", WordRole::kNegation},
    {"equal", WordRole::kWord},
    {"equals", WordRole::kClause},
    {"even", WordRole::kWord},
    {"every", WordRole::kClause},
    {"exactly", WordRole::kFiller},
    {"except", WordRole::kClause},
    {"exists", WordRole::kWord},
    {"false", WordRole::kWord},
    {"february", WordRole::kDate},
    {"female", WordRole::kWord},
    {"finite", WordRole::kWord},
    {"five", WordRole::kWord},
    {"for", WordRole::kClause},
    {"forall", WordRole::kClause},
    {"four", WordRole::kWord},
    {"friday", WordRole::kDate},
    {"from", WordRole::kClause},
    {"girl", WordRole::kWord},
    {"girls", WordRole::kWord},
    {"given", WordRole::kClause},
    {"green", WordRole::kWord},
    {"gross", WordRole::kNegation},
    {"has", WordRole::kClause},
    {"have", WordRole::kClause},
    {"hen", WordRole::kWord},
    {"hens", WordRole::kWord},
    {"hundred", WordRole::kScale},
    {"hundreds", WordRole::kScale},
    {"hyperbola", WordRole::kWord},
    {"if", WordRole::kClause},
    {"incorrect", WordRole::kNegation},
    {"incorrectly", WordRole::kNegation},
    {"increasing", WordRole::kWord},
    {"infinite", WordRole::kWord},
    {"infinitely", WordRole::kWord},
    {"instead", WordRole::kNegation},
    {"irrational", WordRole::kWord},
    {"is", WordRole::kClause},
    {"january", WordRole::kDate},
    {"july", WordRole::kDate},
    {"june", WordRole::kDate},
    {"just", WordRole::kFiller},
    {"lac", WordRole::kScale},
    {"lacs", WordRole::kScale},
    {"lakh", WordRole::kScale},
    {"lakhs", WordRole::kScale},
    {"larger", WordRole::kWord},
    {"left", WordRole::kWord},
    {"less", WordRole::kWord},
    {"line", WordRole::kWord},
    {"male", WordRole::kWord},
    {"man", WordRole::kWord},
    {"many", WordRole::kWord},
    {"march", WordRole::kDate},
    {"may", WordRole::kDate},
    {"maybe", WordRole::kNegation},
    {"men", WordRole::kWord},
    {"million", WordRole::kScale},
    {"millions", WordRole::kScale},
    {"mn", WordRole::kScale},
    {"monday", WordRole::kDate},
    {"more", WordRole::kWord},
    {"negative", WordRole::kWord},
    {"neither", WordRole::kNegation},
    {"never", WordRole::kNegation},
    {"nine", WordRole::kWord},
    {"no", WordRole::kNegation},
    {"non", WordRole::kNegation},
    {"none", WordRole::kWord},
    {"nor", WordRole::kNegation},
    {"north", WordRole::kWord},
    {"not", WordRole::kNegation},
    {"november", WordRole::kDate},
    {"october", WordRole::kDate},
    {"odd", WordRole::kWord},
    {"oder", WordRole::kNegation},
    {"of", WordRole::kClause},
    {"one", WordRole::kWord},
    {"only", WordRole::kFiller},
    {"or", WordRole::kOr},
    {"otherwise", WordRole::kNegation},
    {"over", WordRole::kClause},
    {"parabola", WordRole::kWord},
    {"pct", WordRole::kPercent},
    {"pen", WordRole::kWord},
    {"pens", WordRole::kWord},
    {"percent", WordRole::kPercent},
    {"percentage", WordRole::kPercent},
    {"perhaps", WordRole::kNegation},
    {"peut", WordRole::kNegation},
    {"point", WordRole::kWord},
    {"positive", WordRole::kWord},
    {"possibly", WordRole::kNegation},
    {"prime", WordRole::kWord},
    {"probably", WordRole::kNegation},
    {"provided", WordRole::kClause},
    {"rational", WordRole::kWord},
    {"rectangle", WordRole::kWord},
    {"red", WordRole::kWord},
    {"right", WordRole::kWord},
    {"roughly", WordRole::kFiller},
    {"row", WordRole::kWord},
    {"rows", WordRole::kWord},
    {"same", WordRole::kWord},
    {"saturday", WordRole::kDate},
    {"score", WordRole::kNegation},
    {"september", WordRole::kDate},
    {"set", WordRole::kWord},
    {"sets", WordRole::kWord},
    {"seven", WordRole::kWord},
    {"simply", WordRole::kFiller},
    {"since", WordRole::kClause},
    {"six", WordRole::kWord},
    {"smaller", WordRole::kWord},
    {"so", WordRole::kClause},
    {"sometimes", WordRole::kWord},
    {"south", WordRole::kWord},
    {"square", WordRole::kWord},
    {"such", WordRole::kClause},
    {"sunday", WordRole::kDate},
    {"supposedly", WordRole::kNegation},
    {"ten", WordRole::kWord},
    {"tens", WordRole::kScale},
    {"than", WordRole::kClause},
    {"that", WordRole::kClause},
    {"then", WordRole::kClause},
    {"this", WordRole::kWord},
    {"thousand", WordRole::kScale},
    {"thousands", WordRole::kScale},
    {"three", WordRole::kWord},
    {"through", WordRole::kTo},
    {"thursday", WordRole::kDate},
    {"tn", WordRole::kScale},
    {"to", WordRole::kTo},
    {"toy", WordRole::kWord},
    {"toys", WordRole::kWord},
    {"triangle", WordRole::kWord},
    {"trillion", WordRole::kScale},
    {"trillions", WordRole::kScale},
    {"true", WordRole::kWord},
    {"tuesday", WordRole::kDate},
    {"two", WordRole::kWord},
    {"undefined", WordRole::kWord},
    {"unless", WordRole::kClause},
    {"unsure", WordRole::kNegation},
    {"until", WordRole::kClause},
    {"up", WordRole::kWord},
    {"versus", WordRole::kNegation},
    {"vs", WordRole::kNegation},
    {"was", WordRole::kClause},
    {"way", WordRole::kWord},
    {"ways", WordRole::kWord},
    {"wednesday", WordRole::kDate},
    {"west", WordRole::kWord},
    {"when", WordRole::kClause},
    {"whenever", WordRole::kClause},
    {"where", WordRole::kClause},
    {"which", WordRole::kClause},
    {"while", WordRole::kClause},
    {"white", WordRole::kWord},
    {"win", WordRole::kWord},
    {"wins", WordRole::kWord},
    {"with", WordRole::kClause},
    {"wrong", WordRole::kNegation},
    {"yes", WordRole::kWord},
    {"zero", WordRole::kWord},
};
constexpr ValueEntry kNumbers[] = {
    {"eight", 8},    {"eighteen", 18}, {"eighty", 80}, {"eleven", 11},    {"fifteen", 15}, {"fifty", 50},
    {"five", 5},     {"forty", 40},    {"four", 4},    {"fourteen", 14},  {"nine", 9},     {"nineteen", 19},
    {"ninety", 90},  {"one", 1},       {"seven", 7},   {"seventeen", 17}, {"seventy", 70}, {"six", 6},
    {"sixteen", 16}, {"sixty", 60},    {"ten", 10},    {"thirteen", 13},  {"thirty", 30},  {"three", 3},
    {"twelve", 12},  {"twenty", 20},   {"two", 2},     {"zero", 0},
};
constexpr ValueEntry kDenominators[] = {
    {"eighth", 8},      {"eighths", 8},       {"eleventh", 11},      {"elevenths", 11}, {"fifth", 5},
    {"fifths", 5},      {"fourth", 4},        {"fourths", 4},        {"half", 2},       {"halves", 2},
    {"hundredth", 100}, {"hundredths", 100},  {"ninth", 9},          {"ninths", 9},     {"quarter", 4},
    {"quarters", 4},    {"seventh", 7},       {"sevenths", 7},       {"sixteenth", 16}, {"sixteenths", 16},
    {"sixth", 6},       {"sixths", 6},        {"tenth", 10},         {"tenths", 10},    {"third", 3},
    {"thirds", 3},      {"thousandth", 1000}, {"thousandths", 1000}, {"twelfth", 12},   {"twelfths", 12},
    {"twentieth", 20},  {"twentieths", 20},
};
constexpr ValueEntry kScales[] = {
    {"billion", 9},  {"billions", 9},  {"bn", 9},       {"crore", 7},     {"crores", 7},
    {"hundred", 2},  {"hundreds", 2},  {"lac", 5},      {"lacs", 5},      {"lakh", 5},
    {"lakhs", 5},    {"million", 6},   {"millions", 6}, {"mn", 6},        {"tens", 1},
    {"thousand", 3}, {"thousands", 3}, {"tn", 12},      {"trillion", 12}, {"trillions", 12},
};
constexpr string_view kMagnitudes[] = {
    "bn",      "crore",   "crores",   "cubed",     "dozen",       "dozens",      "factorial",
    "googol",  "gross",   "hundred",  "hundreds",  "lac",         "lacs",        "lakh",
    "lakhs",   "million", "millions", "mn",        "quadrillion", "quintillion", "score",
    "squared", "tens",    "thousand", "thousands", "tn",          "trillion",    "trillions"};
// Names that may be written without a blank behind them: "sinx", "2pir".
constexpr string_view kPrefixes[] = {
    "acos",    "acosh", "alpha",     "arccos", "arccot", "arccsc", "arcsec",   "arcsin", "arctan",
    "arsinh",  "asin",  "asinh",     "atan",   "atanh",  "beta",   "binomial", "cbrt",   "ceil",
    "ceiling", "cos",   "cosec",     "cosh",   "cot",    "coth",   "csc",      "delta",  "det",
    "epsilon", "exp",   "factorial", "gamma",  "gcd",    "hcf",    "infinity", "infty",  "lambda",
    "lcm",     "lg",    "ln",        "log",    "omega",  "phi",    "pi",       "sec",    "sigma",
    "sin",     "sinh",  "sqrt",      "tan",    "tanh",   "theta",
};

template <typename Entry>
constexpr bool ByWord(const Entry& a, const Entry& b) {
  return a.word < b.word;
}
static_assert(std::is_sorted(std::begin(kSpelled), std::end(kSpelled), ByWord<SpelledEntry>));
static_assert(std::is_sorted(std::begin(kRoles), std::end(kRoles), ByWord<RoleEntry>));
static_assert(std::is_sorted(std::begin(kNumbers), std::end(kNumbers), ByWord<ValueEntry>));
static_assert(std::is_sorted(std::begin(kDenominators), std::end(kDenominators), ByWord<ValueEntry>));
static_assert(std::is_sorted(std::begin(kScales), std::end(kScales), ByWord<ValueEntry>));
static_assert(std::is_sorted(std::begin(kMagnitudes), std::end(kMagnitudes)));

constexpr size_t kLongestWord = 16;

// A word in lower case; no word of the tables where it is too long for them.
class Lower {
 public:
  explicit Lower(string_view word) : size_(word.size() <= kLongestWord ? word.size() : 0) {
    for (size_t i = 0; i < size_; ++i) bytes_[i] = absl::ascii_tolower(static_cast<unsigned char>(word[i]));
  }
  string_view view() const { return string_view(bytes_, size_); }

 private:
  char bytes_[kLongestWord];
  size_t size_;
};

template <typename Entry, size_t n>
const Entry* Find(const Entry (&table)[n], string_view word) {
  const Entry* found = std::lower_bound(std::begin(table), std::end(table), word,
                                        [](const Entry& e, string_view w) { return e.word < w; });
  return found != std::end(table) && found->word == word ? found : nullptr;
}

template <size_t n>
std::optional<int> FindValue(const ValueEntry (&table)[n], string_view word) {
  const ValueEntry* found = Find(table, Lower(word).view());
  if (found == nullptr) return std::nullopt;
  return found->value;
}

bool IsAscending(string_view letters) {
  for (size_t i = 1; i < letters.size(); ++i) {
    if (letters[i - 1] >= letters[i]) return false;
  }
  return true;
}

bool HasVowel(string_view letters) { return letters.find_first_of("aeiouAEIOU") != string_view::npos; }

// What is left of a run once the names of functions and constants in it are taken out.
size_t LettersBesideNames(string_view letters) {
  size_t rest = 0;
  while (!letters.empty()) {
    size_t bytes = 0;
    if (FindSpelledPrefix(letters, &bytes)) {
      letters.remove_prefix(bytes);
    } else {
      letters.remove_prefix(1);
      ++rest;
    }
  }
  return rest;
}

// Millions are written "mn", and so is no unit.
bool IsNewtons(string_view word) { return word == "mN" || word == "MN"; }

}  // namespace

std::optional<Spelled> FindSpelled(string_view word) {
  const SpelledEntry* found = Find(kSpelled, word);
  if (found == nullptr && word.size() > 2) found = Find(kSpelled, Lower(word).view());
  if (found == nullptr) return std::nullopt;
  return Spelled{found->kind, found->text};
}

std::optional<Spelled> FindSpelledPrefix(string_view letters, size_t* bytes) {
  string_view best;
  for (string_view name : kPrefixes) {
    if (name.size() > best.size() && letters.substr(0, name.size()) == name) best = name;
  }
  if (best.empty()) return std::nullopt;
  *bytes = best.size();
  return FindSpelled(best);
}

WordRole RoleOf(string_view word) {
  if (IsNewtons(word)) return WordRole::kNone;
  const RoleEntry* found = Find(kRoles, Lower(word).view());
  return found == nullptr ? WordRole::kNone : found->role;
}

std::optional<int> NumberWordValue(string_view word) { return FindValue(kNumbers, word); }
std::optional<int> DenominatorWordValue(string_view word) { return FindValue(kDenominators, word); }
std::optional<int> ScaleWordValue(string_view word) {
  if (IsNewtons(word)) return std::nullopt;
  return FindValue(kScales, word);
}

bool ChangesMagnitude(string_view word) {
  const Lower lower(word);
  return !word.empty() && std::binary_search(std::begin(kMagnitudes), std::end(kMagnitudes), lower.view());
}

bool IsProductOfLetters(string_view letters, bool blank_before) {
  if (letters.size() == 1) return true;
  if (RoleOf(letters) != WordRole::kNone || ScaleWordValue(letters)) return false;
  if (NumberWordValue(letters) || DenominatorWordValue(letters)) return false;
  bool upper = letters.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == string_view::npos;
  if (letters.size() == 2 || IsAscending(letters) || (upper && letters.size() <= 4)) return true;
  if (letters.size() == 3) return !blank_before || !HasVowel(letters);
  size_t rest = LettersBesideNames(letters);
  return rest <= 2 && rest < letters.size();
}

}  // namespace sluice::math
