#include "bench/folder.h"

#include <cstdlib>
#include <filesystem>

namespace sluice::bench {

Folder::Folder(const std::string& named, const std::string& stem) : path_(named) {
  std::error_code ignored;  // what is not there says so when it is used
  if (!named.empty()) {
    std::filesystem::create_directories(named, ignored);
    return;
  }
  std::string pattern = (std::filesystem::temp_directory_path() / (stem + ".XXXXXX")).string();
  if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  own_ = true;
}

Folder::~Folder() {
  std::error_code ignored;
  if (own_ && !path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace sluice::bench
