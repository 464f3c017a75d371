#include "core/spec/tokenizer/added_tokens.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/text/json.h"
#include "core/spec/text/unicode.h"

namespace sluice {
namespace {

constexpr size_t kMaxAddedTokens = 1 << 17;
constexpr size_t kMaxContentBytes = 4096;

size_t LastCharacter(absl::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

bool WordBefore(absl::string_view text, size_t end) {
  if (end == 0) return false;
  size_t at = LastCharacter(text, end);
  return IsWordCharacter(NextCodePoint(text, at));
}

bool WordAfter(absl::string_view text, size_t at) {
  return at < text.size() && IsWordCharacter(NextCodePoint(text, at));
}

size_t SpacesBefore(absl::string_view text, size_t end) {
  while (end > 0) {
    const size_t begin = LastCharacter(text, end);
    size_t at = begin;
    if (!IsWhitespace(NextCodePoint(text, at))) break;
    end = begin;
  }
  return end;
}

size_t SpacesAfter(absl::string_view text, size_t at) {
  while (at < text.size()) {
    size_t next = at;
    if (!IsWhitespace(NextCodePoint(text, next))) break;
    at = next;
  }
  return at;
}

}  // namespace

absl::StatusOr<std::vector<AddedToken>> ParseAddedTokens(const nlohmann::json* list) {
  std::vector<AddedToken> out;
  if (list == nullptr) return out;
  if (!list->is_array() || list->size() > kMaxAddedTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("tokenizer.json: field \"added_tokens\" is not a list of at most ", kMaxAddedTokens));
  }
  absl::flat_hash_set<int32_t> ids;
  absl::flat_hash_set<std::string> contents;
  for (const nlohmann::json& json : *list) {
    JsonFields in(json, absl::StrCat("tokenizer.json: added_tokens[", out.size(), "]"));
    AddedToken token;
    token.id = static_cast<int32_t>(in.Int("id", 0, (4 << 20) - 1));
    token.content = in.String("content");
    token.special = in.BoolOr("special", false);
    token.normalized = in.BoolOr("normalized", !token.special);
    token.single_word = in.BoolOr("single_word", false);
    token.lstrip = in.BoolOr("lstrip", false);
    token.rstrip = in.BoolOr("rstrip", false);
    if (token.content.empty() || token.content.size() > kMaxContentBytes)
      in.Fail("content", "is empty or too long");
    if (!ids.insert(token.id).second) in.Fail("id", absl::StrCat("is ", token.id, ", as that of another"));
    if (!contents.insert(token.content).second) in.Fail("content", "is that of another");
    SLUICE_RETURN_IF_ERROR(in.status());
    out.push_back(std::move(token));
  }
  return out;
}

void AddedTokenMatcher::Add(const AddedToken& token, absl::string_view written) {
  if (written.empty()) return;
  uint64_t node = 0;
  for (char c : written) {
    const auto [it, fresh] = edges_.try_emplace(node << 8 | static_cast<uint8_t>(c), token_at_.size());
    if (fresh) token_at_.push_back(-1);
    node = static_cast<uint64_t>(it->second);
  }
  token_at_[node] = static_cast<int32_t>(tokens_.size());
  tokens_.push_back(token);
}

std::pair<int32_t, size_t> AddedTokenMatcher::Longest(absl::string_view text, size_t at) const {
  std::pair<int32_t, size_t> best = {-1, 0};
  uint64_t node = 0;
  for (size_t i = at; i < text.size(); ++i) {
    const auto it = edges_.find(node << 8 | static_cast<uint8_t>(text[i]));
    if (it == edges_.end()) break;
    node = static_cast<uint64_t>(it->second);
    if (token_at_[node] >= 0) best = {token_at_[node], i + 1 - at};
  }
  return best;
}

std::vector<TextPiece> AddedTokenMatcher::Split(absl::string_view text) const {
  std::vector<TextPiece> out;
  size_t done = 0, at = 0;
  while (at < text.size() && !tokens_.empty()) {
    const auto [index, length] = Longest(text, at);
    if (index < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(index)];
    size_t begin = at, end = at + length;
    at = end;
    if (token.single_word && (WordBefore(text, begin) || WordAfter(text, end))) continue;
    if (token.lstrip) begin = std::max(SpacesBefore(text, begin), done);
    if (token.rstrip) end = SpacesAfter(text, end);
    if (begin > done) out.push_back({-1, text.substr(done, begin - done)});
    out.push_back({token.id, text.substr(begin, end - begin)});
    done = end;
    at = std::max(at, end);
  }
  if (done < text.size()) out.push_back({-1, text.substr(done)});
  return out;
}

}  // namespace sluice
