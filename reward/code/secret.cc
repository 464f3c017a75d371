#include "reward/code/secret.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>

namespace sluice {

std::string FreshSecret() {
  std::string key(32, '\0');
  size_t have = 0;
  while (have < key.size()) {
    ssize_t n = getrandom(key.data() + have, key.size() - have, 0);
    if (n < 0 && errno != EINTR) abort();  // the kernel always has randomness once it is up
    if (n > 0) have += static_cast<size_t>(n);
  }
  return key;
}

}  // namespace sluice
