// JSON from outside: bounded depth, no name twice in an object, and errors that name the source and the
// field.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace sluice {

constexpr int kMaxJsonDepth = 64;

// INVALID_ARGUMENT naming `source` (a file name) for anything but one whole JSON value.
absl::StatusOr<nlohmann::json> ParseJson(absl::string_view text, absl::string_view source);

// Reads members of one object. The first error sticks and later reads give defaults, so a caller reads all
// and then looks at status(). A null member counts as absent.
class JsonFields {
 public:
  // `source` prefixes every message; `object` is borrowed.
  JsonFields(const nlohmann::json& object, std::string source);

  const absl::Status& status() const { return status_; }
  bool Has(const char* name) const;
  void Fail(const char* name, absl::string_view why);

  int64_t Int(const char* name, int64_t min, int64_t max);  // must be present
  int64_t IntOr(const char* name, int64_t absent, int64_t min, int64_t max);
  double NumberOr(const char* name, double absent, double min, double max);
  double Number(const char* name, double min, double max);  // must be present
  bool BoolOr(const char* name, bool absent);
  std::string StringOr(const char* name, absl::string_view absent);
  std::string String(const char* name);  // must be present
  // The member, or null when absent.
  const nlohmann::json* Find(const char* name) const;

 private:
  const nlohmann::json* Require(const char* name);
  const nlohmann::json& object_;
  std::string source_;
  absl::Status status_;
};

}  // namespace sluice
