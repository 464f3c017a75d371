#include "rollout/completion_text.h"

#include <algorithm>

namespace sluice {
namespace {

struct Utf8Step {
  size_t bytes = 1;
  bool valid = false;
};

// The character, or the maximal invalid part, at the beginning of `s` (Unicode 15, table 3-7).
Utf8Step NextCharacter(absl::string_view s) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {1, true};
  size_t length = 0;
  unsigned char low = 0x80, high = 0xBF;  // of the second byte
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {1, false};
  }
  for (size_t i = 1; i < length; ++i) {
    if (i >= s.size() || at(i) < low || at(i) > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {length, true};
}

}  // namespace

std::string ToValidUtf8(absl::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = NextCharacter(bytes);
    if (step.valid) {
      out.append(bytes.data(), step.bytes);
    } else {
      out.append("\xEF\xBF\xBD");
    }
    bytes.remove_prefix(step.bytes);
  }
  return out;
}

bool CompletionText::Append(int32_t token) {
  if (tokenizer_ == nullptr) return false;
  const std::string piece = tokenizer_->TokenBytes(token);
  const size_t before = bytes_.size();
  bytes_ += piece;
  pieces_.push_back({bytes_.size(), !piece.empty() && tokenizer_->Decode({token}, true).empty()});
  for (const std::string& stop : *stops_) {
    // An occurrence that is complete only now ends within the new piece.
    const size_t from = before >= stop.size() ? before - stop.size() + 1 : 0;
    cut_ = std::min(cut_, bytes_.find(stop, from));
  }
  return cut_ != std::string::npos;
}

std::string CompletionText::Text(bool drop_last) const {
  std::string visible;
  size_t begin = 0;
  const size_t count = pieces_.size() - (drop_last && !pieces_.empty() ? 1 : 0);
  for (size_t i = 0; i < count; ++i) {
    const size_t end = std::min(pieces_[i].end, cut_);
    if (!pieces_[i].special && end > begin) visible.append(bytes_, begin, end - begin);
    begin = std::max(begin, end);
  }
  return ToValidUtf8(visible);
}

}  // namespace sluice
