// Which system calls a candidate may make.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace sluice {

// A seccomp program (an array of struct sock_filter) for this machine's architecture: what programs,
// interpreters and compilers need is allowed; what only an attack asks for kills the process (SIGSYS); the
// rest answers ENOSYS or EACCES as a kernel without it would. Calls of other architectures kill.
absl::StatusOr<std::string> BuildSyscallFilter();

}  // namespace sluice
