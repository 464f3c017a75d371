// Filters, tests and methods of chat templates.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/spec/template/value.h"

namespace sluice::chat {

// What one rendering may use. Every operation charges for the work and memory that it causes.
class Budget {
 public:
  static constexpr int64_t kMaxSteps = 10'000'000;
  static constexpr size_t kMaxTextBytes = 16 << 20;  // of one string, and of the output

  absl::Status Charge(int64_t steps);
  absl::StatusOr<Value> Text(std::string text);  // charges for its bytes
  absl::StatusOr<Value> Items(List list);        // charges for its items

 private:
  int64_t steps_ = 0;
};

absl::StatusOr<Value> ApplyFilter(const std::string& name, const Value& value, const Arguments& arguments,
                                  Budget& budget);
absl::StatusOr<bool> ApplyTest(const std::string& name, const Value& value, const List& arguments);
// UNIMPLEMENTED when values of this type have no such method.
absl::StatusOr<Value> CallMethod(const Value& receiver, const std::string& name, const Arguments& arguments,
                                 Budget& budget);

// Items of a list, names of an object, characters of a string; of undefined: none.
absl::StatusOr<List> Iterate(const Value& value, Budget& budget);
absl::StatusOr<bool> Contains(const Value& container, const Value& item);
// a op b, for == != < <= > >= in and "not in".
absl::StatusOr<bool> Holds(const std::string& op, const Value& a, const Value& b);
// Python's container[begin:end:step] over characters or items.
absl::StatusOr<Value> Slice(const Value& value, const Value& begin, const Value& end, const Value& step,
                            Budget& budget);

}  // namespace sluice::chat
