#include "reward/code/code_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "reward/code/harness.h"
#include "reward/code/secret.h"

namespace sluice {
namespace {

constexpr size_t kSecretBytes = 32;

absl::StatusOr<std::string> SecretOf(const std::string& folder) {
  if (folder.empty()) return FreshSecret();
  std::string path = folder + "/secret";
  auto kept = ReadFile(path, 4096);
  if (kept.ok() && kept->size() == kSecretBytes) return kept;
  std::string fresh = FreshSecret();
  SLUICE_RETURN_IF_ERROR(WriteFileAtomically(path, fresh));
  return fresh;
}

}  // namespace

CodeRunner::CodeRunner(Sandbox& sandbox, const CodeScorerOptions& options,
                       std::unique_ptr<CompileCache> cache, std::string secret)
    : sandbox_(sandbox),
      options_(options),
      cache_(std::move(cache)),
      compiler_(sandbox, *cache_, options.compiler, options.open_timeout),
      row_boxes_(sandbox),
      secret_(std::move(secret)),
      free_(options.max_items) {
  for (const SandboxProperty& property : sandbox.properties()) {
    if (!property.holds) stamps_.push_back(absl::StrCat("weaker_sandbox:", property.name));
  }
}

absl::Status CodeRunner::TakePlace(absl::Time deadline) {
  absl::MutexLock lock(&mu_);
  auto is_free = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return free_ > 0; };
  if (!mu_.AwaitWithDeadline(absl::Condition(&is_free),
                             std::min(deadline, absl::Now() + options_.open_timeout))) {
    return absl::DeadlineExceededError(
        absl::StrCat("all ", options_.max_items, " places for programs were taken"));
  }
  --free_;
  return absl::OkStatus();
}

void CodeRunner::GivePlace() {
  absl::MutexLock lock(&mu_);
  ++free_;
}

absl::StatusOr<std::shared_ptr<CodeRunner>> MakeCodeRunner(Sandbox& sandbox,
                                                           const CodeScorerOptions& options) {
  if (options.max_items < 1) return absl::InvalidArgumentError("max_items is at least 1");
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<CompileCache> cache,
                          CompileCache::Open(options.cache_directory, options.cache_bytes));
  SLUICE_ASSIGN_OR_RETURN(std::string secret, SecretOf(options.cache_directory));
  return std::make_shared<CodeRunner>(sandbox, options, std::move(cache), std::move(secret));
}

void AddCodeHarness(SandboxOptions& options) {
  options.python_modules[std::string(kHarnessModule)] = kHarnessSource;
}

}  // namespace sluice
