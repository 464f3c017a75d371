// The small key-value store with which ranks find each other (RendezvousService of learner.proto carries it
// over gRPC). Thread-safe. Every call has a deadline.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace sluice {

class KeyValue {
 public:
  virtual ~KeyValue() = default;
  virtual absl::Status Set(const std::string& key, const std::string& value, absl::Time deadline) = 0;
  // Waits until the key exists; DEADLINE_EXCEEDED names it.
  virtual absl::StatusOr<std::string> Get(const std::string& key, absl::Time deadline) = 0;
  // Adds to an integer kept as decimal text, which starts at 0; INVALID_ARGUMENT when the key holds something
  // else.
  virtual absl::StatusOr<int64_t> Add(const std::string& key, int64_t delta, absl::Time deadline) = 0;
  // Whether all keys exist.
  virtual absl::StatusOr<bool> Check(const std::vector<std::string>& keys, absl::Time deadline) = 0;
};

// In memory: for tests, and behind rank 0's RendezvousService. RESOURCE_EXHAUSTED at its limits.
class MemoryKeyValue final : public KeyValue {
 public:
  struct Limits {
    size_t keys = 65536;
    size_t key_bytes = 1024;
    size_t value_bytes = 1 << 20;
    size_t total_bytes = 64 << 20;
  };
  MemoryKeyValue() : MemoryKeyValue(Limits()) {}
  explicit MemoryKeyValue(Limits limits) : limits_(limits) {}

  absl::Status Set(const std::string& key, const std::string& value, absl::Time deadline) override;
  absl::StatusOr<std::string> Get(const std::string& key, absl::Time deadline) override;
  absl::StatusOr<int64_t> Add(const std::string& key, int64_t delta, absl::Time deadline) override;
  absl::StatusOr<bool> Check(const std::vector<std::string>& keys, absl::Time deadline) override;
  // Forgets every key: before a new gang.
  void Clear();

 private:
  absl::Status Put(const std::string& key, const std::string& value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Limits limits_;
  absl::Mutex mu_;
  absl::CondVar changed_;
  std::map<std::string, std::string> values_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace sluice
