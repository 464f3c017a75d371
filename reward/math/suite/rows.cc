#include "reward/math/suite/rows.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "nlohmann/json.hpp"

namespace sluice::math {
namespace {

std::vector<nlohmann::json> ReadLines(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::abort();
  }
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(file, line);) {
    rows.push_back(nlohmann::json::parse(line, nullptr, false));
    if (rows.back().is_object()) continue;
    std::fprintf(stderr, "%s:%zu: no JSON object\n", path.c_str(), rows.size());
    std::abort();
  }
  return rows;
}

}  // namespace

std::vector<SuiteRow> ReadSuite(const std::string& path) {
  std::vector<SuiteRow> rows;
  for (const nlohmann::json& json : ReadLines(path)) {
    SuiteRow row;
    row.line = static_cast<int>(rows.size()) + 1;
    row.gold = json.at("gold");
    row.answer = json.at(json.contains("completion") ? "completion" : "prediction");
    row.expected = json.at("expected");
    row.clear = json.value("clear", true);
    row.known = json.value("known", false);
    row.category = json.at("category");
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> ReadMember(const std::string& path, const std::string& member) {
  std::vector<std::string> values;
  for (const nlohmann::json& json : ReadLines(path)) values.push_back(json.at(member));
  return values;
}

}  // namespace sluice::math
