#include "services/cli/text_table.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sluice::cli {

std::string RenderTable(const std::vector<std::vector<std::string>>& lines, size_t first_of_numbers) {
  std::vector<size_t> widths(lines.empty() ? 0 : lines[0].size());
  for (const auto& line : lines) {
    for (size_t c = 0; c < widths.size(); ++c) widths[c] = std::max(widths[c], line[c].size());
  }
  std::string out;
  for (const auto& line : lines) {
    for (size_t c = 0; c < widths.size(); ++c) {
      const bool last = c + 1 == widths.size();
      const std::string blanks(widths[c] - line[c].size(), ' ');
      absl::StrAppend(&out, c == 0 ? "" : "  ",
                      c >= first_of_numbers ? blanks + line[c] : line[c] + (last ? "" : blanks));
    }
    absl::StrAppend(&out, "\n");
  }
  return out;
}

}  // namespace sluice::cli
