#include "core/spec/text/nearest_name.h"

#include <algorithm>
#include <numeric>

namespace sluice {
namespace {

constexpr size_t kMaxCandidates = 50'000, kMaxBytes = 200;

size_t Distance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);  // distances of a prefix of `a` to every prefix of `b`
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string NearestName(absl::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > kMaxBytes) return "";
  size_t best = name.size() / 2 + 1;
  std::string nearest;
  for (size_t i = 0; i < std::min(candidates.size(), kMaxCandidates); ++i) {
    const std::string& candidate = candidates[i];
    const size_t difference =
        std::max(candidate.size(), name.size()) - std::min(candidate.size(), name.size());
    if (difference >= best) continue;
    const size_t distance = Distance(name, candidate);
    if (distance >= best) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace sluice
