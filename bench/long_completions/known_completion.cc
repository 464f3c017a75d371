#include "bench/long_completions/known_completion.h"

#include "absl/strings/str_cat.h"

namespace sluice::bench {
namespace {

uint64_t Mix(SampleKey key, uint64_t place) {
  uint64_t x = key.draw * 0x9E3779B97F4A7C15u + key.index * 0xC2B2AE3D27D4EB4Fu + place;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace

int32_t TokensOf(const CompletionShape& shape, SampleKey key) {
  const int32_t quarter = shape.tokens / 4;
  return shape.tokens - static_cast<int32_t>(Mix(key, ~uint64_t{0}) % static_cast<uint64_t>(quarter + 1));
}

Trajectory KnownPart(const CompletionShape& shape, SampleKey key, int32_t prompt_tokens, int32_t begin,
                     int32_t end) {
  Trajectory out;
  out.key = key;
  for (int32_t t = begin; t < end; ++t) {
    const uint64_t bits = Mix(key, static_cast<uint64_t>(t));
    out.tokens.push_back(static_cast<int32_t>(bits % 10));
    out.raw_logprobs.push_back(-static_cast<float>(bits >> 40) * 0x1p-24f);
    out.processed_logprobs.push_back(-static_cast<float>(bits >> 20 & 0xFFFFF) * 0x1p-20f);
    absl::StrAppend(&out.text, bits % 10, bits % 3 == 0 ? " " : "ab ");
  }
  out.experts = {shape.moe_layers, shape.per_token, {}};
  const int32_t first = begin == 0 ? 0 : prompt_tokens + begin - 1;
  const int32_t width = shape.moe_layers * shape.per_token;
  out.experts.ids.reserve(static_cast<size_t>(prompt_tokens + end - 1 - first) * static_cast<size_t>(width));
  for (int32_t row = first; row < prompt_tokens + end - 1; ++row) {
    const uint64_t bits = Mix(key, (uint64_t{1} << 40) + static_cast<uint64_t>(row));
    for (int32_t i = 0; i < width; ++i)
      out.experts.ids.push_back(
          static_cast<uint16_t>(((bits >> (i % 48)) + static_cast<uint64_t>(i)) & 0x1FF));
  }
  if (begin == 0 && end == TokensOf(shape, key))
    out.finish_reason = end == shape.tokens ? FinishReason::kLength : FinishReason::kStop;
  return out;
}

absl::Status CheckKnown(const CompletionShape& shape, int32_t prompt_tokens, const Trajectory& whole) {
  const auto tokens = static_cast<int32_t>(whole.tokens.size());
  const std::string name =
      absl::StrCat("sample ", whole.key.draw, "/", whole.key.index, " with ", tokens, " tokens: ");
  if (tokens > TokensOf(shape, whole.key)) return absl::DataLossError(name + "more than it has");
  const Trajectory known = KnownPart(shape, whole.key, prompt_tokens, 0, tokens);
  if (whole.tokens != known.tokens) return absl::DataLossError(name + "tokens");
  if (whole.raw_logprobs != known.raw_logprobs) return absl::DataLossError(name + "raw_logprobs");
  if (whole.processed_logprobs != known.processed_logprobs)
    return absl::DataLossError(name + "processed_logprobs");
  if (whole.experts != known.experts) return absl::DataLossError(name + "experts");
  return absl::OkStatus();
}

}  // namespace sluice::bench
