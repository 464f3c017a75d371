#include "reward/math/equal/unit_conversion.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "reward/math/text/units.h"

namespace sluice::math {
namespace {

using absl::string_view;

struct Entry {
  string_view unit;
  string_view measure;  // what it is a multiple of, with powers as in a unit
  long above, below;
};

// Sorted by unit. Lengths in micrometres, masses in micrograms, volumes in cubic lengths, so that all are
// exact.
constexpr Entry kEntries[] = {
    {"L", "um^3", 1'000'000'000'000'000, 1},
    {"acre", "um^2", 4'046'856'422'400'000, 1},
    {"byte", "bit", 8, 1},
    {"cal", "J", 4184, 1000},
    {"cc", "um^3", 1'000'000'000'000, 1},
    {"cent", "dollar", 1, 100},
    {"cm", "um", 10'000, 1},
    {"cup", "um^3", 236'588'236'500'000, 1},
    {"day", "s", 86'400, 1},
    {"dm", "um", 100'000, 1},
    {"ft", "um", 304'800, 1},
    {"g", "ug", 1'000'000, 1},
    {"gal", "um^3", 3'785'411'784'000'000, 1},
    {"h", "s", 3600, 1},
    {"hectare", "um^2", 10'000'000'000'000'000, 1},
    {"in", "um", 25'400, 1},
    {"kJ", "J", 1000, 1},
    {"kPa", "Pa", 1000, 1},
    {"kW", "W", 1000, 1},
    {"kcal", "J", 4184, 1},
    {"kg", "ug", 1'000'000'000, 1},
    {"km", "um", 1'000'000'000, 1},
    {"kph", "um/s", 1'000'000'000, 3600},
    {"lb", "ug", 453'592'370, 1},
    {"m", "um", 1'000'000, 1},
    {"mL", "um^3", 1'000'000'000'000, 1},
    {"mg", "ug", 1000, 1},
    {"mi", "um", 1'609'344'000, 1},
    {"min", "s", 60, 1},
    {"mm", "um", 1000, 1},
    {"mph", "um/s", 1'609'344'000, 3600},
    {"ms", "s", 1, 1000},
    {"nm", "um", 1, 1000},
    {"oz", "ug", 28'349'523'125, 1000},
    {"pt", "um^3", 473'176'473'000'000, 1},
    {"qt", "um^3", 946'352'946'000'000, 1},
    {"rpm", "turn/s", 1, 60},
    {"tbsp", "um^3", 14'786'764'781'250, 1},
    {"tsp", "um^3", 4'928'921'593'750, 1},
    {"week", "s", 604'800, 1},
    {"yd", "um", 914'400, 1},
};
constexpr bool ByUnit(const Entry& a, const Entry& b) { return a.unit < b.unit; }
static_assert(std::is_sorted(std::begin(kEntries), std::end(kEntries), ByUnit));

const Entry* Find(string_view unit) {
  const Entry* found = std::lower_bound(std::begin(kEntries), std::end(kEntries), unit,
                                        [](const Entry& e, string_view u) { return e.unit < u; });
  return found != std::end(kEntries) && found->unit == unit ? found : nullptr;
}

struct Measure {
  mpq_class factor = 1;
  std::map<std::string, int, std::less<>> powers;
};

void MultiplyBy(mpq_class factor, int exponent, Measure& out) {
  factor.canonicalize();
  if (exponent < 0) factor = 1 / factor;
  for (int i = 0; i < std::abs(exponent); ++i) out.factor *= factor;
}

mpq_class PowerOfTen(int exponent) {
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 10, static_cast<unsigned long>(std::abs(exponent)));
  return exponent < 0 ? mpq_class(1) / power : mpq_class(power);
}

// Multiplies `out` by unit^power; each word through the table once.
bool Expand(string_view unit, int power, bool through_table, Measure& out) {
  int sign = 1;
  while (!unit.empty()) {
    size_t end = unit.find_first_of("/*");
    string_view part = unit.substr(0, end);
    int exponent = 1;
    if (size_t hat = part.find('^'); hat != string_view::npos) {
      if (!absl::SimpleAtoi(part.substr(hat + 1), &exponent) || std::abs(exponent) > 9) return false;
      part = part.substr(0, hat);
    }
    exponent *= sign * power;
    const Entry* entry = through_table ? Find(part) : nullptr;
    std::optional<PrefixedUnit> prefixed =
        through_table && entry == nullptr ? SplitPrefix(part) : std::nullopt;
    if (prefixed) {
      MultiplyBy(PowerOfTen(prefixed->exponent), exponent, out);
      if (!Expand(prefixed->base, exponent, true, out)) return false;
    } else if (entry != nullptr) {
      MultiplyBy(mpq_class(entry->above, entry->below), exponent, out);
      if (!Expand(entry->measure, exponent, false, out)) return false;
    } else if (!part.empty()) {
      out.powers[std::string(part)] += exponent;
    }
    if (end == string_view::npos) break;
    sign = unit[end] == '/' ? -1 : 1;
    unit.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace

std::optional<mpq_class> UnitRatio(string_view a, string_view b) {
  if (a == b) return mpq_class(1);
  Measure x, y;
  if (!Expand(a, 1, true, x) || !Expand(b, 1, true, y)) return std::nullopt;
  for (Measure* m : {&x, &y}) std::erase_if(m->powers, [](const auto& p) { return p.second == 0; });
  if (x.powers != y.powers) return std::nullopt;
  return mpq_class(y.factor / x.factor);
}

}  // namespace sluice::math
