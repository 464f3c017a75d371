// A file handle of the outer root, guessed by inode, walks past chroot and mount namespaces.
#include <fcntl.h>
#include <stdlib.h>

#include "attempt.h"
int main() {
  AttemptApart("name_to_handle_at", [] {
    char space[sizeof(file_handle) + 128] = {0};
    auto* handle = (file_handle*)space;
    handle->handle_bytes = 128;
    int mount = 0;
    return name_to_handle_at(AT_FDCWD, "/usr", handle, &mount, 0);
  });
  AttemptApart("open_by_handle_at", [] {
    char space[sizeof(file_handle) + 8] = {0};
    auto* handle = (file_handle*)space;
    handle->handle_bytes = 8;
    handle->handle_type = 1;
    handle->f_handle[0] = 2;
    int folder = open("/usr", O_RDONLY);
    return open_by_handle_at(folder < 0 ? AT_FDCWD : folder, handle, O_RDONLY);
  });
  puts("done: contained");
}
