// What all code scorers of a service share. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "reward/code/code_scorer.h"
#include "reward/code/compile_cache.h"
#include "reward/code/cpp_compiler.h"
#include "reward/code/row_box.h"
#include "reward/sandbox/sandbox.h"

namespace sluice {

class CodeRunner {
 public:
  CodeRunner(Sandbox& sandbox, const CodeScorerOptions& options, std::unique_ptr<CompileCache> cache,
             std::string secret);

  Sandbox& sandbox() { return sandbox_; }
  RowBoxPool& row_boxes() { return row_boxes_; }
  CppCompiler& compiler() { return compiler_; }
  absl::Duration open_timeout() const { return options_.open_timeout; }
  // A secret of the cache's folder: what programs from the cache prove by stays the same.
  const std::string& secret() const { return secret_; }
  // "weaker_sandbox:PROPERTY" for each property that does not hold.
  const std::vector<std::string>& stamps() const { return stamps_; }

  // A place among the items that are judged at once. DEADLINE_EXCEEDED: none became free.
  absl::Status TakePlace(absl::Time deadline) ABSL_LOCKS_EXCLUDED(mu_);
  void GivePlace() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  Sandbox& sandbox_;
  const CodeScorerOptions options_;
  const std::unique_ptr<CompileCache> cache_;
  CppCompiler compiler_;
  RowBoxPool row_boxes_;
  const std::string secret_;
  std::vector<std::string> stamps_;
  absl::Mutex mu_;
  int free_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice
