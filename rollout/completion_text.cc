#include "rollout/completion_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace sluice {

CompletionText::CompletionText(const Tokenizer* tokenizer, const std::vector<std::string>* stops)
    : stops_(stops),
      tokenizer_(tokenizer),
      decoder_(tokenizer == nullptr ? nullptr : tokenizer->NewDecoder(/*skip_special_tokens=*/true)) {}

bool CompletionText::Append(int32_t token, bool stops_wait) {
  if (decoder_ == nullptr) return false;
  before_last_ = now_;
  const size_t before = marked_.size();
  const std::string certain = decoder_->Next(token);
  visible_ += certain;
  marked_ += certain;
  if (tokenizer_->IsSpecial(token)) {
    const size_t begin = marked_.size();
    marked_ += tokenizer_->TokenBytes(token);
    hidden_.push_back({begin, marked_.size()});
    hidden_bytes_ += marked_.size() - begin;
  }
  now_ = {marked_.size(), decoder_->Pending()};
  return FindStop(before, stops_wait);
}

// An occurrence that is complete only now ends behind `from`; it may end in what is pending: a stop ends the
// completion, and then that is its text.
bool CompletionText::FindStop(size_t from, bool stops_wait) {
  if (stops_->empty()) return false;
  size_t longest = 0;
  for (const std::string& stop : *stops_) longest = std::max(longest, stop.size());
  const size_t begin = std::max(passed_, from >= longest ? from - longest + 1 : 0);
  const std::string tail = absl::StrCat(absl::string_view(marked_).substr(begin), now_.pending);
  for (const std::string& stop : *stops_) {
    if (stop.empty()) continue;
    for (size_t at = tail.find(stop); at != std::string::npos; at = tail.find(stop, at + 1)) {
      if (!stops_wait) {
        cut_ = std::min(cut_, begin + at);
        break;
      }
      passed_ = std::max(passed_, begin + at + 1);
    }
  }
  return cut_ != std::string::npos;
}

size_t CompletionText::PossibleStop() const {
  size_t out = marked_.size();
  for (const std::string& stop : *stops_) {
    if (stop.empty()) continue;
    const size_t most = std::min(marked_.size() - std::min(passed_, marked_.size()), stop.size() - 1);
    for (size_t n = most; n > marked_.size() - out; --n) {
      if (!absl::StartsWith(stop, absl::string_view(marked_).substr(marked_.size() - n))) continue;
      out = marked_.size() - n;
      break;
    }
  }
  return out;
}

size_t CompletionText::VisibleBytes(size_t marked) const {
  size_t out = marked - hidden_bytes_;  // may wrap until what lies behind is added back
  for (size_t i = hidden_.size(); i-- > 0 && hidden_[i].end > marked;) {
    out += hidden_[i].end - std::max(hidden_[i].begin, marked);
  }
  return out;
}

std::string CompletionText::Take() {
  const size_t end = VisibleBytes(std::min(PossibleStop(), cut_));
  if (end <= taken_) return "";
  const size_t begin = std::exchange(taken_, end);
  return visible_.substr(begin, end - begin);
}

std::string CompletionText::TakeRest(bool drop_last) {
  std::string text = Text(drop_last);
  if (text.size() <= taken_) return "";
  text.erase(0, std::exchange(taken_, text.size()));
  return text;
}

std::string CompletionText::Text(bool drop_last) const {
  const Prefix& prefix = drop_last ? before_last_ : now_;
  std::string out = visible_.substr(0, VisibleBytes(std::min(prefix.certain, cut_)));
  if (cut_ > prefix.certain) out.append(prefix.pending, 0, cut_ - prefix.certain);
  return out;
}

}  // namespace sluice
