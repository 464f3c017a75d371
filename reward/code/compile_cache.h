// What was compiled before, by a hash of all that went into it: files of one folder, the least recently used
// ones removed when they take more than their share. Thread-safe. Several services may share a folder: each
// counts what it found and wrote itself, so together they may keep more for a while.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace sluice {

class CompileCache {
 public:
  // Takes over what the folder holds. An empty folder name: keeps nothing. An error names the path.
  static absl::StatusOr<std::unique_ptr<CompileCache>> Open(const std::string& folder, int64_t max_bytes);

  // `key`: lower-case hexadecimal. A file that cannot be read is as good as none.
  std::optional<std::string> Get(const std::string& key);
  // What does not fit is not kept; what cannot be written neither.
  void Put(const std::string& key, absl::string_view content);
  int64_t bytes() const;

 private:
  struct Entry {
    int64_t bytes = 0;
    std::list<std::string>::iterator place;  // in order_
  };

  CompileCache(std::string folder, int64_t max_bytes) : folder_(std::move(folder)), max_bytes_(max_bytes) {}
  absl::Status TakeOver();
  void Add(const std::string& key, int64_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Remove(const std::string& key) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::string Path(const std::string& key) const { return folder_ + "/" + key; }

  const std::string folder_;
  const int64_t max_bytes_;
  mutable absl::Mutex mu_;
  int64_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  std::list<std::string> order_ ABSL_GUARDED_BY(mu_);  // least recently used first
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice
