// Lines of cells as columns of text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sluice::cli {

// Columns are as wide as their widest cell, two spaces apart; those from `first_of_numbers` on are set to the
// right. All lines have the same number of cells.
std::string RenderTable(const std::vector<std::vector<std::string>>& lines, size_t first_of_numbers);

}  // namespace sluice::cli
