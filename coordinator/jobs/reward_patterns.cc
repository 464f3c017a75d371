#include "coordinator/jobs/reward_patterns.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <variant>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {
namespace {

absl::Status CheckPattern(const RewardComponentSpec& component, const std::string& pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
      PCRE2_DOTALL | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &error, &offset, nullptr);
  if (code != nullptr) {
    pcre2_code_free(code);
    return absl::OkStatus();
  }
  PCRE2_UCHAR message[256] = {};
  pcre2_get_error_message(error, message, sizeof(message));
  return absl::InvalidArgumentError(
      absl::StrCat("reward.component.regex.pattern: component \"", component.name,
                   "\": ", reinterpret_cast<const char*>(message), " at offset ", offset));
}

}  // namespace

absl::Status CheckPatterns(const RewardSpec& reward) {
  for (const RewardComponentSpec& component : reward.components) {
    if (const auto* regex = std::get_if<RegexScorerSpec>(&component.scorer)) {
      SLUICE_RETURN_IF_ERROR(CheckPattern(component, regex->pattern));
    }
  }
  return absl::OkStatus();
}

}  // namespace sluice
