#include "core/comm/key_value.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {

absl::Status MemoryKeyValue::Put(const std::string& key, const std::string& value) {
  if (key.empty() || key.size() > limits_.key_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("key of ", key.size(), " bytes; 1 to ", limits_.key_bytes));
  }
  if (value.size() > limits_.value_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("value of key ", key, " has ", value.size(), " bytes; at most ", limits_.value_bytes));
  }
  auto found = values_.find(key);
  const size_t old = found == values_.end() ? 0 : key.size() + found->second.size();
  const size_t total = bytes_ - old + key.size() + value.size();
  if (found == values_.end() && values_.size() >= limits_.keys) {
    return absl::ResourceExhaustedError(absl::StrCat("the store holds its limit of ", limits_.keys, " keys"));
  }
  if (total > limits_.total_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the store holds its limit of ", limits_.total_bytes, " bytes"));
  }
  values_[key] = value;
  bytes_ = total;
  changed_.SignalAll();
  return absl::OkStatus();
}

absl::Status MemoryKeyValue::Set(const std::string& key, const std::string& value, absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  return Put(key, value);
}

absl::StatusOr<std::string> MemoryKeyValue::Get(const std::string& key, absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  while (true) {
    auto found = values_.find(key);
    if (found != values_.end()) return found->second;
    if (changed_.WaitWithDeadline(&mu_, deadline) && values_.count(key) == 0) {
      return absl::DeadlineExceededError(absl::StrCat("waited for key ", key));
    }
  }
}

absl::StatusOr<int64_t> MemoryKeyValue::Add(const std::string& key, int64_t delta, absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  int64_t value = 0;
  auto found = values_.find(key);
  if (found != values_.end() && !absl::SimpleAtoi(found->second, &value)) {
    return absl::InvalidArgumentError(absl::StrCat("key ", key, " holds no integer"));
  }
  if (__builtin_add_overflow(value, delta, &value)) {
    return absl::InvalidArgumentError(absl::StrCat("key ", key, " would overflow"));
  }
  SLUICE_RETURN_IF_ERROR(Put(key, absl::StrCat(value)));
  return value;
}

absl::StatusOr<bool> MemoryKeyValue::Check(const std::vector<std::string>& keys, absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  for (const std::string& key : keys) {
    if (values_.count(key) == 0) return false;
  }
  return true;
}

void MemoryKeyValue::Clear() {
  absl::MutexLock lock(&mu_);
  values_.clear();
  bytes_ = 0;
}

}  // namespace sluice
