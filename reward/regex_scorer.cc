#define PCRE2_CODE_UNIT_WIDTH 8
#include "reward/regex_scorer.h"

#include <pcre2.h>

#include "absl/strings/str_cat.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

constexpr size_t kMaxPatternBytes = 4096;
// PCRE2's own limits start anew at each place of the text where a match may begin, and do not count the
// characters that a loop passes. So the search is counted here too: one step for each item of the pattern
// tried, and one for each byte that the place in the text moved since the item before.
constexpr uint32_t kMatchLimit = 1000000;
constexpr uint32_t kHeapLimitKib = 64 * 1024;
constexpr int64_t kMaxSteps = 20000000;

struct Steps {
  int64_t left = kMaxSteps;
  size_t position = 0;
};

std::string MessageOf(int code) {
  char text[256];
  if (pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(text), sizeof text) < 0)
    return "unknown error";
  return text;
}

int CountStep(pcre2_callout_block* block, void* data) {
  auto* steps = static_cast<Steps*>(data);
  size_t position = block->current_position;
  steps->left -= 1 + static_cast<int64_t>(position > steps->position ? position - steps->position
                                                                     : steps->position - position);
  steps->position = position;
  return steps->left < 0 ? PCRE2_ERROR_MATCHLIMIT : 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ItemScorer>> RegexItemScorer::Create(const std::string& pattern) {
  if (pattern.empty()) return absl::InvalidArgumentError("regex.pattern is empty");
  if (pattern.size() > kMaxPatternBytes) {
    return absl::InvalidArgumentError(absl::StrCat("regex.pattern has ", pattern.size(), " bytes; at most ",
                                                   kMaxPatternBytes, " are allowed"));
  }
  int error = 0;
  PCRE2_SIZE offset = 0;
  uint32_t options =
      PCRE2_DOTALL | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options,
                                   &error, &offset, nullptr);
  if (code == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("regex.pattern ", Quotation(pattern), " at byte ", offset, ": ", MessageOf(error)));
  }
  return std::unique_ptr<ItemScorer>(new RegexItemScorer(code, pattern));
}

RegexItemScorer::~RegexItemScorer() { pcre2_code_free(static_cast<pcre2_code*>(code_)); }

ItemJudgement RegexItemScorer::Judge(const ScoreItem& item) const {
  const auto* code = static_cast<const pcre2_code*>(code_);
  std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> data(pcre2_match_data_create(1, nullptr),
                                                                      pcre2_match_data_free);
  std::unique_ptr<pcre2_match_context, void (*)(pcre2_match_context*)> context(
      pcre2_match_context_create(nullptr), pcre2_match_context_free);
  if (data == nullptr || context == nullptr) return Infrastructure("out of memory");
  Steps steps;
  pcre2_set_match_limit(context.get(), kMatchLimit);
  pcre2_set_heap_limit(context.get(), kHeapLimitKib);
  pcre2_set_callout(context.get(), CountStep, &steps);
  int rc = pcre2_match(code, reinterpret_cast<PCRE2_SPTR>(item.completion.data()), item.completion.size(), 0,
                       0, data.get(), context.get());
  if (rc >= 0) return Correct("the pattern is found", "match");
  if (rc == PCRE2_ERROR_NOMATCH) return Wrong(absl::StrCat("no match for ", Quotation(pattern_)), "no_match");
  return Undecided(absl::StrCat("the search for ", Quotation(pattern_), " was given up: ", MessageOf(rc)),
                   "search_limit");
}

}  // namespace sluice
