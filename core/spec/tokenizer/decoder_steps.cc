#include "core/spec/tokenizer/decoder_steps.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_replace.h"
#include "core/spec/text/unicode.h"
#include "core/spec/tokenizer/byte_level.h"

namespace sluice {
namespace {

// Copies itself.
template <typename Step>
class Cloneable : public DecoderStep {
 public:
  std::unique_ptr<DecoderStep> Clone() const override {
    return std::make_unique<Step>(static_cast<const Step&>(*this));
  }
};

// How many of the first (last) `most` characters are `content`, in bytes.
size_t LeadingBytes(absl::string_view text, absl::string_view content, size_t most) {
  size_t at = 0;
  while (most-- > 0 && absl::StartsWith(text.substr(at), content)) at += content.size();
  return at;
}
size_t TrailingBytes(absl::string_view text, absl::string_view content, size_t most) {
  size_t end = text.size();
  while (most-- > 0 && absl::EndsWith(text.substr(0, end), content)) end -= content.size();
  return text.size() - end;
}

class TokenReplacement final : public Cloneable<TokenReplacement> {
 public:
  TokenReplacement(Finder find, std::string content) : find_(std::move(find)), content_(std::move(content)) {}
  void Push(std::string token, std::vector<std::string>& out) override {
    absl::StatusOr<std::string> replaced = ReplaceMatches(token, find_, content_);
    out.push_back(replaced.ok() ? *std::move(replaced) : std::move(token));
  }

 private:
  Finder find_;
  std::string content_;
};

class TokenStrip final : public Cloneable<TokenStrip> {
 public:
  TokenStrip(std::string content, size_t start, size_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void Push(std::string token, std::vector<std::string>& out) override {
    token.erase(0, LeadingBytes(token, content_, start_));
    token.resize(token.size() - TrailingBytes(token, content_, stop_));
    out.push_back(std::move(token));
  }

 private:
  std::string content_;
  size_t start_, stop_;
};

class SpaceUnescape final : public Cloneable<SpaceUnescape> {
 public:
  SpaceUnescape(std::string replacement, bool drop) : replacement_(std::move(replacement)), drop_(drop) {}
  void Push(std::string token, std::vector<std::string>& out) override {
    out.push_back(absl::StrReplaceAll(token, {{replacement_, drop_ ? "" : " "}}));
    drop_ = false;
  }

 private:
  std::string replacement_;
  bool drop_;
};

class ByteTokens final : public Cloneable<ByteTokens> {
 public:
  void Push(std::string token, std::vector<std::string>& out) override {
    uint32_t byte = 0;
    const bool is_byte = token.size() == 6 && absl::StartsWith(token, "<0x") && token.back() == '>' &&
                         IsHex(token[3]) && IsHex(token[4]) && absl::SimpleHexAtoi(token.substr(3, 2), &byte);
    if (is_byte) {
      run_.push_back(static_cast<char>(byte));
      return;
    }
    Finish(out);
    out.push_back(std::move(token));
  }
  void Finish(std::vector<std::string>& out) override {
    if (run_.empty()) return;
    if (CheckUtf8(run_).ok()) {
      out.push_back(run_);
    } else {
      out.insert(out.end(), run_.size(), "\uFFFD");
    }
    run_.clear();
  }

 private:
  static bool IsHex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  }
  std::string run_;
};

class ByteLevelJoin final : public Cloneable<ByteLevelJoin> {
 public:
  void Push(std::string token, std::vector<std::string>& out) override {
    bytes_ += FromByteLevel(token);
    const size_t whole = bytes_.size() - UnfinishedUtf8(bytes_);
    out.push_back(ReplaceInvalidUtf8(absl::string_view(bytes_).substr(0, whole)));
    bytes_.erase(0, whole);
  }
  void Finish(std::vector<std::string>& out) override {
    out.push_back(ReplaceInvalidUtf8(bytes_));
    bytes_.clear();
  }

 private:
  std::string bytes_;  // the beginning of a character
};

class TextReplacement final : public Cloneable<TextReplacement> {
 public:
  TextReplacement(std::string literal, std::string content)
      : literal_(std::move(literal)), content_(std::move(content)) {}
  void Push(std::string token, std::vector<std::string>& out) override {
    held_ += token;
    std::string done;
    size_t at = 0;
    for (size_t hit = held_.find(literal_); hit != std::string::npos; hit = held_.find(literal_, at)) {
      done.append(held_, at, hit - at);
      done += content_;
      at = hit + literal_.size();
    }
    size_t keep = std::min(literal_.size() - 1, held_.size() - at);
    while (!absl::StartsWith(literal_, absl::string_view(held_).substr(held_.size() - keep))) --keep;
    done.append(held_, at, held_.size() - keep - at);
    held_.erase(0, held_.size() - keep);
    out.push_back(std::move(done));
  }
  void Finish(std::vector<std::string>& out) override { out.push_back(std::exchange(held_, "")); }

 private:
  std::string literal_, content_;
  std::string held_;  // may become the literal
};

class TextStrip final : public Cloneable<TextStrip> {
 public:
  TextStrip(std::string content, size_t start, size_t stop)
      : content_(std::move(content)), start_(start), stop_(stop) {}
  void Push(std::string token, std::vector<std::string>& out) override {
    const size_t skipped = LeadingBytes(token, content_, start_);
    start_ = skipped == token.size() ? start_ - skipped / content_.size() : 0;
    held_.append(token, skipped, std::string::npos);
    const size_t keep = TrailingBytes(held_, content_, stop_);
    out.push_back(held_.substr(0, held_.size() - keep));
    held_.erase(0, held_.size() - keep);
  }

 private:
  std::string content_;
  size_t start_, stop_;  // start_: how many may still be stripped
  std::string held_;     // stripped if nothing follows
};

}  // namespace

std::unique_ptr<DecoderStep> ReplaceInTokens(Finder find, std::string content) {
  return std::make_unique<TokenReplacement>(std::move(find), std::move(content));
}
std::unique_ptr<DecoderStep> StripTokens(std::string content, size_t start, size_t stop) {
  return std::make_unique<TokenStrip>(std::move(content), start, stop);
}
std::unique_ptr<DecoderStep> UnescapeSpaces(std::string replacement, bool drop_first) {
  return std::make_unique<SpaceUnescape>(std::move(replacement), drop_first);
}
std::unique_ptr<DecoderStep> JoinByteTokens() { return std::make_unique<ByteTokens>(); }
std::unique_ptr<DecoderStep> JoinByteLevel() { return std::make_unique<ByteLevelJoin>(); }
std::unique_ptr<DecoderStep> ReplaceInText(std::string literal, std::string content) {
  return std::make_unique<TextReplacement>(std::move(literal), std::move(content));
}
std::unique_ptr<DecoderStep> StripText(std::string content, size_t start, size_t stop) {
  return std::make_unique<TextStrip>(std::move(content), start, stop);
}

}  // namespace sluice
