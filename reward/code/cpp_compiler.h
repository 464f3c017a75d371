// Compiles C++17 in the sandbox with fixed flags, each source once: what was compiled before comes from the
// cache. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "reward/code/compile_cache.h"
#include "reward/item_scorer.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {

struct CppSource {
  std::string text;
  std::vector<std::string> flags;    // besides the fixed ones
  std::vector<std::string> objects;  // linked to it
  bool object_only = false;          // an object instead of a program
};

struct CompiledCpp {
  std::string binary;
  std::string error;    // the compiler's first error; empty: compiled
  absl::Duration wall;  // 0 where it came from the cache
  int64_t peak_memory_bytes = 0;
};

class CppCompiler {
 public:
  // `sandbox` and `cache` are borrowed; `compiler` is a path in its boxes.
  CppCompiler(Sandbox& sandbox, CompileCache& cache, std::string compiler, absl::Duration open_timeout)
      : sandbox_(sandbox), cache_(cache), compiler_(std::move(compiler)), open_timeout_(open_timeout) {}

  // A source that meets a limit of compiling (30 s, 2 GiB) has an error that says so. A status is the
  // sandbox's failure.
  absl::StatusOr<CompiledCpp> Compile(const CppSource& source, const JudgeLimits& limits);

 private:
  struct Ready {
    std::string version;             // of the compiler, hashed
    std::string precompiled_header;  // its name among the artefacts; empty: there is none
  };
  absl::StatusOr<const Ready*> Prepare();
  absl::StatusOr<RunResult> RunCompiler(SandboxBox& box, std::vector<std::string> arguments) const;
  absl::StatusOr<std::string> Version(SandboxBox& box);
  absl::Status Precompile(SandboxBox& box, const std::string& name);
  absl::StatusOr<CompiledCpp> Run(const CppSource& source, const std::vector<std::string>& flags,
                                  const JudgeLimits& limits);

  Sandbox& sandbox_;
  CompileCache& cache_;
  const std::string compiler_;
  const absl::Duration open_timeout_;
  absl::Mutex mu_;
  std::unique_ptr<Ready> ready_ ABSL_GUARDED_BY(mu_);
};

// Whether <bits/stdc++.h> may come first, precompiled: the source includes it, and defines nothing before.
bool MayPrecompile(absl::string_view source);

}  // namespace sluice
