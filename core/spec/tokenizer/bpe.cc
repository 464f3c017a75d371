#include "core/spec/tokenizer/bpe.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status.h"
#include "core/spec/text/json.h"
#include "core/spec/text/unicode.h"

namespace sluice {
namespace {

constexpr int64_t kMaxTokens = 4 << 20;
constexpr int32_t kIndexedCodePoints = 0x3000;
constexpr const char* kWhere = "tokenizer.json: model";

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(kWhere, ": ", what));
}

uint64_t PairKey(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

// A merge is ["a", "b"] or "a b".
absl::StatusOr<std::pair<std::string, std::string>> ReadPair(const nlohmann::json& json) {
  if (json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_string()) {
    return std::make_pair(json[0].get<std::string>(), json[1].get<std::string>());
  }
  if (json.is_string()) {
    const std::string& text = json.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return std::make_pair(text.substr(0, space), text.substr(space + 1));
    }
  }
  return absl::InvalidArgumentError("is neither \"a b\" nor [\"a\", \"b\"]");
}

absl::string_view FirstCharacter(absl::string_view text) {
  size_t at = 0;
  if (!text.empty()) NextCodePoint(text, at);
  return text.substr(0, at);
}

absl::string_view LastCharacter(absl::string_view text) {
  size_t begin = text.empty() ? 0 : text.size() - 1;
  while (begin > 0 && (static_cast<uint8_t>(text[begin]) & 0xC0) == 0x80) --begin;
  return text.substr(begin);
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Bpe>> Bpe::Parse(const nlohmann::json& json) {
  JsonFields in(json, kWhere);
  if (in.StringOr("type", "BPE") != "BPE") in.Fail("type", "is not \"BPE\", the only kind supported");
  if (in.NumberOr("dropout", 0, 0, 1) != 0) in.Fail("dropout", "is not supported");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!in.StringOr(affix, "").empty()) in.Fail(affix, "is not supported");
  }
  std::unique_ptr<Bpe> bpe(new Bpe);
  const bool byte_fallback = in.BoolOr("byte_fallback", false);
  bpe->ignore_merges_ = in.BoolOr("ignore_merges", false);
  bpe->fuse_unknown_ = in.BoolOr("fuse_unk", false);
  const std::string unknown = in.StringOr("unk_token", "");
  SLUICE_RETURN_IF_ERROR(in.status());
  SLUICE_RETURN_IF_ERROR(bpe->ReadVocabulary(in.Find("vocab")));
  if (!unknown.empty()) {
    bpe->unknown_id_ = bpe->TokenId(unknown);
    if (bpe->unknown_id_ < 0)
      return Bad(absl::StrCat("field \"unk_token\" is \"", unknown, "\", which is no token"));
  }
  bpe->IndexCharacters(byte_fallback);
  SLUICE_RETURN_IF_ERROR(bpe->ReadMerges(in.Find("merges")));
  return std::unique_ptr<const Bpe>(std::move(bpe));
}

absl::Status Bpe::ReadVocabulary(const nlohmann::json* vocab) {
  if (vocab == nullptr || !vocab->is_object() || vocab->empty())
    return Bad("field \"vocab\" is not an object of tokens");
  vocabulary_.reserve(vocab->size());
  std::vector<bool> used(static_cast<size_t>(kMaxTokens));
  for (const auto& [token, id] : vocab->items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= static_cast<uint64_t>(kMaxTokens)) {
      return Bad(absl::StrCat("field \"vocab\": token \"", token.substr(0, 64), "\" has no id from 0 to ",
                              kMaxTokens));
    }
    const int32_t number = id.get<int32_t>();
    if (used[static_cast<size_t>(number)]) {
      return Bad(absl::StrCat("field \"vocab\": id ", number, " stands for two tokens, one of them \"",
                              token.substr(0, 64), "\""));
    }
    used[static_cast<size_t>(number)] = true;
    vocabulary_.emplace(token, number);
  }
  return absl::OkStatus();
}

void Bpe::IndexCharacters(bool byte_fallback) {
  character_ids_.assign(static_cast<size_t>(kIndexedCodePoints), -1);
  for (int32_t c = 0; c < kIndexedCodePoints; ++c) {
    std::string utf8;
    AppendUtf8(c, utf8);
    character_ids_[static_cast<size_t>(c)] = TokenId(utf8);
  }
  for (size_t byte = 0; byte_fallback && byte < byte_ids_.size(); ++byte) {
    byte_ids_[byte] = TokenId(absl::StrFormat("<0x%02X>", byte));
  }
}

absl::Status Bpe::ReadMerges(const nlohmann::json* merges) {
  if (merges == nullptr || !merges->is_array() || merges->size() > static_cast<size_t>(kMaxTokens)) {
    return Bad("field \"merges\" is not a list");
  }
  merges_.reserve(merges->size());
  for (size_t i = 0; i < merges->size(); ++i) {
    absl::StatusOr<std::pair<std::string, std::string>> pair = ReadPair((*merges)[i]);
    const std::string where = absl::StrCat(kWhere, ": merges[", i, "]");
    if (!pair.ok()) return Annotate(pair.status(), where);
    const absl::Status added = AddMerge(pair->first, pair->second, static_cast<int32_t>(i));
    if (!added.ok()) return Annotate(added, where);
  }
  return absl::OkStatus();
}

absl::Status Bpe::AddMerge(const std::string& left, const std::string& right, int32_t rank) {
  const int32_t a = TokenId(left), b = TokenId(right), joined = TokenId(left + right);
  for (const auto& [id, token] : {std::make_pair(a, left), {b, right}, {joined, left + right}}) {
    if (id < 0)
      return absl::InvalidArgumentError(
          absl::StrCat("\"", token.substr(0, 64), "\" is not in the vocabulary"));
  }
  merges_[PairKey(a, b)] = {rank, joined};
  // A text's symbols are its characters, save where bytes or the unknown token stand for them: a merge of
  // those would meet in other places than the characters say.
  for (int32_t id : {a, b}) {
    separable_ = separable_ && id != unknown_id_ &&
                 std::find(byte_ids_.begin(), byte_ids_.end(), id) == byte_ids_.end();
  }
  const int32_t end = TokenId(LastCharacter(left)), begin = TokenId(FirstCharacter(right));
  if (begin >= 0 && end >= 0) seams_.insert(PairKey(end, begin));
  return absl::OkStatus();
}

int32_t Bpe::TokenId(absl::string_view token) const {
  const auto it = vocabulary_.find(token);
  return it == vocabulary_.end() ? -1 : it->second;
}

int32_t Bpe::CharacterId(int32_t code_point, absl::string_view utf8) const {
  if (code_point >= 0 && code_point < kIndexedCodePoints)
    return character_ids_[static_cast<size_t>(code_point)];
  return TokenId(utf8);
}

const Bpe::Merge* Bpe::FindMerge(int32_t left, int32_t right) const {
  const auto it = merges_.find(PairKey(left, right));
  return it == merges_.end() ? nullptr : &it->second;
}

}  // namespace sluice
