#include "reward/math/text/units.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "reward/math/text/number_lexer.h"

namespace sluice::math {
namespace {

using absl::string_view;

struct Entry {
  string_view word;
  string_view unit;
};

// Sorted by word.
constexpr Entry kUnits[] = {
    {"A", "A"},
    {"AM", "am"},
    {"C", "C"},
    {"F", "F"},
    {"Hz", "Hz"},
    {"INR", "rupee"},
    {"J", "J"},
    {"K", "K"},
    {"L", "L"},
    {"M", "M"},
    {"N", "N"},
    {"PM", "pm"},
    {"Pa", "Pa"},
    {"Rs", "rupee"},
    {"T", "T"},
    {"V", "V"},
    {"W", "W"},
    {"acre", "acre"},
    {"acres", "acre"},
    {"am", "am"},
    {"amp", "A"},
    {"ampere", "A"},
    {"amperes", "A"},
    {"amps", "A"},
    {"atm", "atm"},
    {"bit", "bit"},
    {"bits", "bit"},
    {"buck", "dollar"},
    {"bucks", "dollar"},
    {"byte", "byte"},
    {"bytes", "byte"},
    {"cal", "cal"},
    {"calorie", "cal"},
    {"calories", "cal"},
    {"cc", "cc"},
    {"celsius", "celsius"},
    {"cent", "cent"},
    {"centimeter", "cm"},
    {"centimeters", "cm"},
    {"centimetre", "cm"},
    {"centimetres", "cm"},
    {"cents", "cent"},
    {"cm", "cm"},
    {"cms", "cm"},
    {"cny", "yuan"},
    {"coulomb", "C"},
    {"coulombs", "C"},
    {"cup", "cup"},
    {"cups", "cup"},
    {"day", "day"},
    {"days", "day"},
    {"decimeter", "dm"},
    {"decimeters", "dm"},
    {"deg", "degree"},
    {"degree", "degree"},
    {"degrees", "degree"},
    {"dm", "dm"},
    {"dollar", "dollar"},
    {"dollars", "dollar"},
    {"eV", "eV"},
    {"eur", "euro"},
    {"euro", "euro"},
    {"euros", "euro"},
    {"fahrenheit", "fahrenheit"},
    {"farad", "F"},
    {"farads", "F"},
    {"feet", "ft"},
    {"foot", "ft"},
    {"ft", "ft"},
    {"g", "g"},
    {"gal", "gal"},
    {"gallon", "gal"},
    {"gallons", "gal"},
    {"gbp", "pound sterling"},
    {"gm", "g"},
    {"gms", "g"},
    {"gram", "g"},
    {"gramme", "g"},
    {"grammes", "g"},
    {"grams", "g"},
    {"h", "h"},
    {"ha", "hectare"},
    {"hectare", "hectare"},
    {"hectares", "hectare"},
    {"hertz", "Hz"},
    {"hour", "h"},
    {"hours", "h"},
    {"hr", "h"},
    {"hrs", "h"},
    {"in", "in"},
    {"inch", "in"},
    {"inches", "in"},
    {"inr", "rupee"},
    {"joule", "J"},
    {"joules", "J"},
    {"jpy", "yen"},
    {"kJ", "kJ"},
    {"kPa", "kPa"},
    {"kW", "kW"},
    {"kcal", "kcal"},
    {"kelvin", "K"},
    {"kelvins", "K"},
    {"kg", "kg"},
    {"kgs", "kg"},
    {"kilo", "kg"},
    {"kilogram", "kg"},
    {"kilograms", "kg"},
    {"kilojoule", "kJ"},
    {"kilojoules", "kJ"},
    {"kilometer", "km"},
    {"kilometers", "km"},
    {"kilometre", "km"},
    {"kilometres", "km"},
    {"kilos", "kg"},
    {"kilowatt", "kW"},
    {"kilowatts", "kW"},
    {"km", "km"},
    {"kmh", "kph"},
    {"kmph", "kph"},
    {"kms", "km"},
    {"kph", "kph"},
    {"l", "L"},
    {"lb", "lb"},
    {"lbs", "lb"},
    {"liter", "L"},
    {"liters", "L"},
    {"litre", "L"},
    {"litres", "L"},
    {"m", "m"},
    {"mL", "mL"},
    {"meter", "m"},
    {"meters", "m"},
    {"metre", "m"},
    {"metres", "m"},
    {"mg", "mg"},
    {"mi", "mi"},
    {"micrometer", "um"},
    {"micrometers", "um"},
    {"micron", "um"},
    {"microns", "um"},
    {"mile", "mi"},
    {"miles", "mi"},
    {"milligram", "mg"},
    {"milligrams", "mg"},
    {"milliliter", "mL"},
    {"milliliters", "mL"},
    {"millilitre", "mL"},
    {"millilitres", "mL"},
    {"millimeter", "mm"},
    {"millimeters", "mm"},
    {"millimetre", "mm"},
    {"millimetres", "mm"},
    {"millisecond", "ms"},
    {"milliseconds", "ms"},
    {"min", "min"},
    {"mins", "min"},
    {"minute", "min"},
    {"minutes", "min"},
    {"ml", "mL"},
    {"mm", "mm"},
    {"mol", "mol"},
    {"molar", "M"},
    {"mole", "mol"},
    {"moles", "mol"},
    {"mols", "mol"},
    {"month", "month"},
    {"months", "month"},
    {"mph", "mph"},
    {"ms", "ms"},
    {"mtr", "m"},
    {"nanometer", "nm"},
    {"nanometers", "nm"},
    {"newton", "N"},
    {"newtons", "N"},
    {"nm", "nm"},
    {"ohm", "ohm"},
    {"ohms", "ohm"},
    {"ounce", "oz"},
    {"ounces", "oz"},
    {"oz", "oz"},
    {"pascal", "Pa"},
    {"pascals", "Pa"},
    {"percent", "percent"},
    {"pint", "pt"},
    {"pints", "pt"},
    {"pixel", "pixel"},
    {"pixels", "pixel"},
    {"pm", "pm"},
    {"pound", "lb"},
    {"pounds", "lb"},
    {"qt", "qt"},
    {"quart", "qt"},
    {"quarts", "qt"},
    {"rad", "radian"},
    {"radian", "radian"},
    {"radians", "radian"},
    {"rads", "radian"},
    {"rmb", "yuan"},
    {"rpm", "rpm"},
    {"rs", "rupee"},
    {"rupee", "rupee"},
    {"rupees", "rupee"},
    {"s", "s"},
    {"sec", "s"},
    {"second", "s"},
    {"seconds", "s"},
    {"secs", "s"},
    {"tablespoon", "tbsp"},
    {"tablespoons", "tbsp"},
    {"tbsp", "tbsp"},
    {"teaspoon", "tsp"},
    {"teaspoons", "tsp"},
    {"tesla", "T"},
    {"ton", "ton"},
    {"tonne", "ton"},
    {"tonnes", "ton"},
    {"tons", "ton"},
    {"tsp", "tsp"},
    {"um", "um"},
    {"unit", "unit"},
    {"units", "unit"},
    {"usd", "dollar"},
    {"volt", "V"},
    {"volts", "V"},
    {"watt", "W"},
    {"watts", "W"},
    {"week", "week"},
    {"weeks", "week"},
    {"wk", "week"},
    {"wks", "week"},
    {"yard", "yd"},
    {"yards", "yd"},
    {"yd", "yd"},
    {"yds", "yd"},
    {"year", "year"},
    {"years", "year"},
    {"yen", "yen"},
    {"yr", "year"},
    {"yrs", "year"},
    {"yuan", "yuan"},
};
constexpr bool ByWord(const Entry& a, const Entry& b) { return a.word < b.word; }
static_assert(std::is_sorted(std::begin(kUnits), std::end(kUnits), ByWord));

string_view Find(string_view word) {
  const Entry* found = std::lower_bound(std::begin(kUnits), std::end(kUnits), word,
                                        [](const Entry& e, string_view w) { return e.word < w; });
  return found != std::end(kUnits) && found->word == word ? found->unit : string_view();
}

struct Prefix {
  string_view symbol, word;
  int exponent;
};
constexpr Prefix kPrefixes[] = {{"p", "pico", -12}, {"n", "nano", -9},  {"u", "micro", -6},
                                {"m", "milli", -3}, {"c", "centi", -2}, {"d", "deci", -1},
                                {"k", "kilo", 3},   {"M", "mega", 6},   {"G", "giga", 9}};
constexpr string_view kPrefixedSymbols[] = {"A",   "Bq", "C",  "F", "Gy",  "H",   "Hz", "J", "K",
                                            "L",   "N",  "Pa", "S", "Sv",  "T",   "V",  "W", "Wb",
                                            "cal", "eV", "g",  "m", "mol", "ohm", "s"};
constexpr string_view kPrefixedWords[] = {
    "amp",     "ampere", "amperes", "amps",    "calorie", "calories", "coulomb", "coulombs", "farad",
    "farads",  "gram",   "gramme",  "grammes", "grams",   "hertz",    "joule",   "joules",   "kelvin",
    "kelvins", "liter",  "liters",  "litre",   "litres",  "meter",    "meters",  "metre",    "metres",
    "mole",    "moles",  "newton",  "newtons", "ohm",     "ohms",     "pascal",  "pascals",  "second",
    "seconds", "tesla",  "volt",    "volts",   "watt",    "watts"};

struct PrefixedEntry {
  std::string unit;
  PrefixedUnit parts;
};
using PrefixedEntries = std::map<std::string, PrefixedEntry, std::less<>>;

PrefixedEntries AllPrefixed() {
  PrefixedEntries entries;
  auto add = [&](std::string word, const Prefix& prefix, string_view base) {
    if (!Find(word).empty()) return;
    entries.emplace(std::move(word),
                    PrefixedEntry{absl::StrCat(prefix.symbol, base), {base, prefix.exponent}});
  };
  for (const Prefix& prefix : kPrefixes) {
    for (string_view symbol : kPrefixedSymbols) add(absl::StrCat(prefix.symbol, symbol), prefix, symbol);
    for (string_view word : kPrefixedWords) add(absl::StrCat(prefix.word, word), prefix, Find(word));
  }
  static constexpr struct {
    string_view joined, unit;
  } kProducts[] = {{"Ah", "A*h"},   {"MWh", "MW*h"}, {"Nm", "N*m"},  {"Wh", "W*h"},
                   {"kNm", "kN*m"}, {"kWh", "kW*h"}, {"mAh", "mA*h"}};
  for (const auto& product : kProducts) {
    entries.emplace(product.joined, PrefixedEntry{std::string(product.unit), {}});
  }
  for (string_view ohms : {"ohm", "ohms"}) {  // of two vowels one is left
    entries.emplace(absl::StrCat("kil", ohms), entries.at("kohm"));
    entries.emplace(absl::StrCat("meg", ohms), entries.at("Mohm"));
  }
  for (string_view prefix : {"k", "M", "G", "T"}) {  // of 1000 or of 1024, so that they do not convert
    for (string_view base : {"B", "b"}) {
      const std::string symbol = absl::StrCat(prefix, base);
      entries.emplace(symbol, PrefixedEntry{symbol, {}});
    }
  }
  return entries;
}

const PrefixedEntry* FindPrefixed(string_view word) {
  static const PrefixedEntries entries = AllPrefixed();
  auto found = entries.find(word);
  return found == entries.end() ? nullptr : &found->second;
}

}  // namespace

string_view FindUnit(string_view word) {
  string_view unit = Find(word);
  if (!unit.empty() || word.size() <= 2 || word.size() > 16) return unit;
  return Find(absl::AsciiStrToLower(word));
}

string_view FindPrefixedUnit(string_view word) {
  constexpr size_t kLongestSymbol = 4, kLongestWord = 16;
  if (word.size() < 2 || word.size() > kLongestWord) return {};
  const PrefixedEntry* entry =
      word.size() > kLongestSymbol ? FindPrefixed(absl::AsciiStrToLower(word)) : FindPrefixed(word);
  return entry == nullptr ? string_view() : entry->unit;
}

std::optional<PrefixedUnit> SplitPrefix(string_view unit) {
  const PrefixedEntry* entry = FindPrefixed(unit);
  if (entry == nullptr || entry->parts.base.empty()) return std::nullopt;
  return entry->parts;
}

bool IsCurrency(string_view unit) {
  return unit == "dollar" || unit == "euro" || unit == "pound sterling" || unit == "yen" || unit == "rupee" ||
         unit == "yuan" || unit == "cent";
}

bool IsKnownUnit(string_view unit) {
  size_t i = 0;
  while (i < unit.size()) {
    size_t begin = i;
    while (i < unit.size() && (IsLetter(unit[i]) || unit[i] == ' ')) ++i;
    string_view word = unit.substr(begin, i - begin);
    if (word != "pound sterling" && FindUnit(word) != word && FindPrefixedUnit(word) != word) return false;
    while (i < unit.size() && !IsLetter(unit[i])) ++i;
  }
  return !unit.empty();
}

int SmallerUnits(string_view larger, string_view smaller) {
  static constexpr struct {
    string_view larger, smaller;
    int count;
  } kPairs[] = {{"ft", "in", 12},  {"yd", "ft", 3},   {"mi", "ft", 5280},     {"h", "min", 60},
                {"min", "s", 60},  {"day", "h", 24},  {"week", "day", 7},     {"year", "month", 12},
                {"lb", "oz", 16},  {"m", "cm", 100},  {"km", "m", 1000},      {"cm", "mm", 10},
                {"kg", "g", 1000}, {"L", "mL", 1000}, {"dollar", "cent", 100}};
  for (const auto& pair : kPairs) {
    if (pair.larger == larger && pair.smaller == smaller) return pair.count;
  }
  return 0;
}

std::string SingularOf(string_view word) {
  std::string out = absl::AsciiStrToLower(word);
  if (out.size() > 4 && absl::EndsWith(out, "ies")) {
    out.replace(out.size() - 3, 3, "y");
  } else if (out.size() > 4 && (absl::EndsWith(out, "ches") || absl::EndsWith(out, "shes") ||
                                absl::EndsWith(out, "xes") || absl::EndsWith(out, "sses"))) {
    out.resize(out.size() - 2);
  } else if (out.size() > 3 && out.back() == 's' && !absl::EndsWith(out, "ss")) {
    out.pop_back();
  }
  return out;
}

}  // namespace sluice::math
