#include "core/rl/trajectory_parts.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sluice {
namespace {

// Ids of the experts of one token that was fed.
size_t RoutedWidth(const Trajectory& t) {
  return static_cast<size_t>(std::max(0, t.experts.moe_layers)) *
         static_cast<size_t>(std::max(0, t.experts.per_token));
}

template <typename T>
std::vector<T> Slice(const std::vector<T>& values, size_t begin, size_t end) {
  end = std::min(end, values.size());
  if (begin >= end) return {};
  return {values.begin() + static_cast<std::ptrdiff_t>(begin),
          values.begin() + static_cast<std::ptrdiff_t>(end)};
}

template <typename T>
void AddFrom(const std::vector<T>& more, size_t begin, std::vector<T>& values) {
  values.insert(values.end(), more.begin() + static_cast<std::ptrdiff_t>(std::min(begin, more.size())),
                more.end());
}

}  // namespace

size_t FirstToken(const Trajectory& part) {
  return part.spans.empty() ? 0 : static_cast<size_t>(std::max(0, part.spans.front().begin));
}

size_t EndToken(const Trajectory& part) { return FirstToken(part) + part.tokens.size(); }

Trajectory PartOf(const Trajectory& whole, size_t begin, size_t end) {
  const size_t tokens = whole.tokens.size();
  end = std::min(end, tokens);
  begin = std::min(begin, end);
  Trajectory out;
  out.key = whole.key;
  out.worker = whole.worker;
  out.attempt = whole.attempt;
  if (begin == 0) out.text = whole.text;
  out.tokens = Slice(whole.tokens, begin, end);
  out.raw_logprobs = Slice(whole.raw_logprobs, begin, end);
  out.processed_logprobs = Slice(whole.processed_logprobs, begin, end);
  for (VersionSpan span : whole.spans) {
    span.begin = std::max(span.begin, static_cast<int32_t>(begin));
    span.end = std::min(span.end, static_cast<int32_t>(end));
    if (span.begin < span.end) out.spans.push_back(std::move(span));
  }
  const size_t per_token = tokens == 0 ? 0 : whole.alternatives.size() / tokens;
  out.alternatives = Slice(whole.alternatives, begin * per_token, end * per_token);
  out.experts = {whole.experts.moe_layers, whole.experts.per_token, {}};
  const size_t width = RoutedWidth(whole), fed = width == 0 ? 0 : whole.experts.ids.size() / width;
  if (fed + 1 < tokens || end == 0) return out;
  // The last token was not fed: token t follows the row before its own.
  const size_t before = fed + 1 - tokens;  // rows of the prompt
  out.experts.ids =
      Slice(whole.experts.ids, begin == 0 ? 0 : (before + begin - 1) * width, (before + end - 1) * width);
  return out;
}

std::vector<Trajectory> PartsOf(const Trajectory& whole, size_t bytes) {
  const size_t tokens = whole.tokens.size();
  std::vector<Trajectory> out;
  if (tokens == 0) return out;
  const size_t of_token = sizeof(int32_t) + 2 * sizeof(float) + RoutedWidth(whole) * sizeof(uint16_t) +
                          whole.alternatives.size() / tokens * sizeof(TokenAlternative);
  const size_t step = std::max<size_t>(1, bytes / of_token);
  for (size_t begin = 0; begin < tokens; begin += step) out.push_back(PartOf(whole, begin, begin + step));
  return out;
}

absl::Status Append(Trajectory part, Trajectory& whole) {
  const size_t first = FirstToken(part), have = whole.tokens.size();
  if (part.key != whole.key) return absl::InvalidArgumentError("a part of another completion");
  if (FirstToken(whole) > first || EndToken(whole) < first) {
    return absl::InvalidArgumentError(
        absl::StrCat("a part from token ", first, " on, there are ", EndToken(whole)));
  }
  if (first == FirstToken(whole) && EndToken(part) >= EndToken(whole)) {
    whole = std::move(part);
    return absl::OkStatus();
  }
  const size_t known = EndToken(whole) - first;  // tokens of the part that are there
  if (known >= part.tokens.size()) {
    if (part.finish_reason != FinishReason::kUnspecified)
      return absl::InvalidArgumentError("it ends before what was there");
    return absl::OkStatus();
  }
  const size_t width = RoutedWidth(part);
  const bool same_routing = part.experts.moe_layers == whole.experts.moe_layers &&
                            part.experts.per_token == whole.experts.per_token;
  const size_t per_token = part.alternatives.size() / part.tokens.size();
  if (!same_routing || whole.alternatives.size() != have * per_token)
    return absl::InvalidArgumentError("a part of another model or another sampling");
  AddFrom(part.tokens, known, whole.tokens);
  AddFrom(part.raw_logprobs, known, whole.raw_logprobs);
  AddFrom(part.processed_logprobs, known, whole.processed_logprobs);
  AddFrom(part.alternatives, known * per_token, whole.alternatives);
  AddFrom(part.experts.ids, known * width, whole.experts.ids);
  for (VersionSpan& span : part.spans) {
    const auto end = static_cast<int32_t>(first + known);
    if (span.end <= end) continue;
    span.begin = std::max(span.begin, end);
    VersionSpan* last = whole.spans.empty() ? nullptr : &whole.spans.back();
    if (last != nullptr && last->version == span.version && last->manifest_hash == span.manifest_hash &&
        last->kernel_path == span.kernel_path) {
      last->end = span.end;
    } else {
      whole.spans.push_back(std::move(span));
    }
  }
  // Text has no place among tokens: of an overlap it would be there twice, and it is only for people.
  if (known == 0) whole.text += part.text;
  whole.finish_reason = part.finish_reason;
  whole.worker = std::move(part.worker);
  whole.attempt = part.attempt;
  return absl::OkStatus();
}

}  // namespace sluice
