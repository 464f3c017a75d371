#include "services/cli/message/suggestion.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace sluice::cli {

int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string Nearest(absl::string_view name, const std::vector<std::string>& candidates) {
  int best = std::max<int>(2, static_cast<int>(name.size() / 3));
  std::string out;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(name, candidate);
    if (distance < best || (distance == best && out.empty())) {
      best = distance;
      out = candidate;
    }
  }
  return out;
}

std::string UnknownCommand(absl::string_view name, const std::vector<std::string>& commands) {
  const std::string nearest = Nearest(name, commands);
  return absl::StrCat("there is no command \"", name, "\"",
                      nearest.empty() ? "" : absl::StrCat(" (did you mean ", nearest, "?)"));
}

}  // namespace sluice::cli
