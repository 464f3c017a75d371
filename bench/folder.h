// The folder that a benchmark works in.
#pragma once

#include <string>

namespace sluice::bench {

// A folder of its own, removed at the end, or the one that was named, which is made and stays.
class Folder {
 public:
  Folder(const std::string& named, const std::string& stem);
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool own_ = false;
};

}  // namespace sluice::bench
