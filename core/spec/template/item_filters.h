// Filters of chat templates on the items of a value: map, select, join, sort and their kin.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/spec/template/builtins.h"
#include "core/spec/template/value.h"

namespace sluice::chat {

// UNIMPLEMENTED when there is no such filter.
absl::StatusOr<Value> ApplyItemFilter(const std::string& name, const Value& value, const Arguments& arguments,
                                      Budget& budget);

}  // namespace sluice::chat
