#include "core/spec/tokenizer.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/added_tokens.h"
#include "core/spec/bpe.h"
#include "core/spec/byte_level.h"
#include "core/spec/json.h"
#include "core/spec/pre_tokenizer.h"
#include "core/spec/unicode.h"

namespace sluice {
namespace {

constexpr size_t kMaxFileBytes = 512 << 20;
constexpr size_t kMaxTextBytes = 64 << 20;
constexpr size_t kMaxTemplateTokens = 64;

// What the post-processor puts around a sequence.
struct Surroundings {
  std::vector<int32_t> before, after;
};

absl::Status ReadNormalizer(const nlohmann::json* json, const std::string& where,
                            std::vector<NormalForm>& out) {
  if (json == nullptr) return absl::OkStatus();
  JsonFields in(*json, where);
  const std::string type = in.String("type");
  SLUICE_RETURN_IF_ERROR(in.status());
  if (type == "Sequence") {
    const nlohmann::json* list = in.Find("normalizers");
    if (list == nullptr || !list->is_array() || list->size() > 16)
      in.Fail("normalizers", "is not a list of at most 16");
    SLUICE_RETURN_IF_ERROR(in.status());
    for (size_t i = 0; i < list->size(); ++i) {
      SLUICE_RETURN_IF_ERROR(ReadNormalizer(&(*list)[i], absl::StrCat(where, ".normalizers[", i, "]"), out));
    }
    return out.size() <= 16 ? absl::OkStatus()
                            : absl::InvalidArgumentError(where + ": more than 16 normalizers");
  }
  for (const auto& [name, form] : {std::make_pair("NFC", NormalForm::kNfc),
                                   {"NFD", NormalForm::kNfd},
                                   {"NFKC", NormalForm::kNfkc},
                                   {"NFKD", NormalForm::kNfkd}}) {
    if (type != name) continue;
    out.push_back(form);
    return absl::OkStatus();
  }
  in.Fail("type",
          absl::StrCat("is \"", type.substr(0, 64), "\"; supported are Sequence, NFC, NFD, NFKC and NFKD"));
  return in.status();
}

absl::StatusOr<std::vector<int32_t>> TemplateTokenIds(const nlohmann::json& table, const std::string& name,
                                                      const std::string& where) {
  const auto entry = table.is_object() ? table.find(name) : table.end();
  const bool listed = table.is_object() && entry != table.end() && entry->is_object() &&
                      entry->contains("ids") && (*entry)["ids"].is_array() &&
                      (*entry)["ids"].size() <= kMaxTemplateTokens;
  std::vector<int32_t> ids;
  if (listed) {
    for (const nlohmann::json& id : (*entry)["ids"]) {
      if (id.is_number_unsigned() && id.get<uint64_t>() < (uint64_t{4} << 20))
        ids.push_back(id.get<int32_t>());
    }
  }
  if (listed && ids.size() == (*entry)["ids"].size()) return ids;
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": special_tokens: \"", name.substr(0, 64), "\" has no list of ids"));
}

absl::Status ReadTemplate(JsonFields& in, const std::string& where, Surroundings& out) {
  const nlohmann::json* single = in.Find("single");
  if (single == nullptr || !single->is_array() || single->size() > kMaxTemplateTokens) {
    in.Fail("single", "is not a list of pieces");
    return in.status();
  }
  const nlohmann::json none = nlohmann::json::object();
  const nlohmann::json* table = in.Find("special_tokens");
  Surroundings added;
  int sequences = 0;
  for (size_t i = 0; i < single->size(); ++i) {
    const nlohmann::json& piece = (*single)[i];
    JsonFields fields(piece, absl::StrCat(where, ".single[", i, "]"));
    SLUICE_RETURN_IF_ERROR(fields.status());
    const char* kind = fields.Has("SpecialToken") ? "SpecialToken" : "Sequence";
    const nlohmann::json* body = fields.Find(kind);
    if (body == nullptr)
      return absl::InvalidArgumentError(absl::StrCat(where, ".single[", i, "]: of unknown kind"));
    JsonFields body_fields(*body, absl::StrCat(where, ".single[", i, "].", kind));
    const std::string id = body_fields.String("id");
    SLUICE_RETURN_IF_ERROR(body_fields.status());
    if (std::string(kind) == "Sequence") {
      ++sequences;
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                            TemplateTokenIds(table != nullptr ? *table : none, id, where));
    std::vector<int32_t>& side = sequences == 0 ? added.before : added.after;
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (sequences != 1) in.Fail("single", "does not have the sequence exactly once");
  out.before.insert(out.before.begin(), added.before.begin(), added.before.end());
  out.after.insert(out.after.end(), added.after.begin(), added.after.end());
  return in.status();
}

absl::Status ReadPostProcessor(const nlohmann::json* json, const std::string& where, Surroundings& out) {
  if (json == nullptr) return absl::OkStatus();
  JsonFields in(*json, where);
  const std::string type = in.String("type");
  SLUICE_RETURN_IF_ERROR(in.status());
  if (type == "ByteLevel") return absl::OkStatus();  // changes offsets, not ids
  if (type == "TemplateProcessing") return ReadTemplate(in, where, out);
  if (type != "Sequence") {
    in.Fail("type", absl::StrCat("is \"", type.substr(0, 64),
                                 "\"; supported are Sequence, ByteLevel and TemplateProcessing"));
    return in.status();
  }
  const nlohmann::json* list = in.Find("processors");
  if (list == nullptr || !list->is_array() || list->size() > 16)
    in.Fail("processors", "is not a list of at most 16");
  SLUICE_RETURN_IF_ERROR(in.status());
  for (size_t i = 0; i < list->size(); ++i) {
    SLUICE_RETURN_IF_ERROR(ReadPostProcessor(&(*list)[i], absl::StrCat(where, ".processors[", i, "]"), out));
  }
  return absl::OkStatus();
}

absl::Status CheckDecoder(const nlohmann::json* json, const std::string& where) {
  if (json == nullptr) return absl::InvalidArgumentError(where + " is missing; only ByteLevel is supported");
  JsonFields in(*json, where);
  const std::string type = in.String("type");
  SLUICE_RETURN_IF_ERROR(in.status());
  if (type == "ByteLevel") return absl::OkStatus();
  const nlohmann::json* list = in.Find("decoders");
  if (type == "Sequence" && list != nullptr && list->is_array() && list->size() == 1) {
    return CheckDecoder(&(*list)[0], where + ".decoders[0]");
  }
  in.Fail("type", absl::StrCat("is \"", type.substr(0, 64), "\"; only ByteLevel is supported"));
  return in.status();
}

class BpeTokenizer final : public Tokenizer {
 public:
  static absl::StatusOr<std::unique_ptr<const Tokenizer>> Parse(const nlohmann::json& json);

  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text, bool add_special_tokens) const override;
  std::string Decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const override;
  std::string TokenBytes(int32_t id) const override;
  int32_t TokenId(absl::string_view token) const override;
  int32_t vocab_size() const override { return static_cast<int32_t>(tokens_.size()); }

 private:
  struct Token {
    std::string bytes;
    bool special = false;
  };
  absl::Status AddTokens(const std::vector<AddedToken>& added);
  absl::Status CheckSurroundings() const;
  absl::StatusOr<std::string> ApplyNormalizers(absl::string_view text) const;
  absl::Status EncodePlain(absl::string_view text, std::vector<int32_t>& ids) const;

  std::unique_ptr<const Bpe> bpe_;
  std::unique_ptr<const PreTokenizer> pre_tokenizer_;
  std::vector<NormalForm> normalizers_;
  Surroundings surroundings_;
  AddedTokenMatcher raw_tokens_, normalized_tokens_;
  absl::flat_hash_map<std::string, int32_t> added_ids_;
  std::vector<Token> tokens_;  // by id; empty where there is none
};

absl::StatusOr<std::unique_ptr<const Tokenizer>> BpeTokenizer::Parse(const nlohmann::json& json) {
  JsonFields in(json, "tokenizer.json");
  SLUICE_RETURN_IF_ERROR(in.status());
  for (const char* field : {"model", "pre_tokenizer"}) {
    if (!in.Has(field)) in.Fail(field, "is missing");
  }
  SLUICE_RETURN_IF_ERROR(in.status());
  auto out = std::make_unique<BpeTokenizer>();
  SLUICE_ASSIGN_OR_RETURN(out->bpe_, Bpe::Parse(*in.Find("model")));
  SLUICE_ASSIGN_OR_RETURN(out->pre_tokenizer_,
                          ParsePreTokenizer(*in.Find("pre_tokenizer"), "tokenizer.json: pre_tokenizer"));
  if (!out->pre_tokenizer_->byte_level()) in.Fail("pre_tokenizer", "has no ByteLevel part, which is needed");
  SLUICE_RETURN_IF_ERROR(in.status());
  SLUICE_RETURN_IF_ERROR(
      ReadNormalizer(in.Find("normalizer"), "tokenizer.json: normalizer", out->normalizers_));
  SLUICE_RETURN_IF_ERROR(
      ReadPostProcessor(in.Find("post_processor"), "tokenizer.json: post_processor", out->surroundings_));
  SLUICE_RETURN_IF_ERROR(CheckDecoder(in.Find("decoder"), "tokenizer.json: decoder"));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<AddedToken> added, ParseAddedTokens(in.Find("added_tokens")));
  SLUICE_RETURN_IF_ERROR(out->AddTokens(added));
  SLUICE_RETURN_IF_ERROR(out->CheckSurroundings());
  return std::unique_ptr<const Tokenizer>(std::move(out));
}

absl::Status BpeTokenizer::AddTokens(const std::vector<AddedToken>& added) {
  int32_t last = -1;
  for (const auto& [token, id] : bpe_->vocabulary()) last = std::max(last, id);
  for (const AddedToken& token : added) last = std::max(last, token.id);
  tokens_.resize(static_cast<size_t>(last) + 1);
  std::vector<const std::string*> named(tokens_.size(), nullptr);
  for (const auto& [token, id] : bpe_->vocabulary()) {
    tokens_[static_cast<size_t>(id)] = {FromByteLevel(token), false};
    named[static_cast<size_t>(id)] = &token;
  }
  for (const AddedToken& token : added) {
    const int32_t known = bpe_->TokenId(token.content);
    const std::string* other = named[static_cast<size_t>(token.id)];
    if ((known >= 0 && known != token.id) || (other != nullptr && *other != token.content)) {
      return absl::InvalidArgumentError(absl::StrCat("tokenizer.json: added_tokens: \"",
                                                     token.content.substr(0, 64), "\" has id ", token.id,
                                                     ", the vocabulary says otherwise"));
    }
    tokens_[static_cast<size_t>(token.id)] = {FromByteLevel(token.content), token.special};
    added_ids_.emplace(token.content, token.id);
    if (!token.normalized) {
      raw_tokens_.Add(token, token.content);
    } else {
      SLUICE_ASSIGN_OR_RETURN(const std::string written, ApplyNormalizers(token.content));
      normalized_tokens_.Add(token, written);
    }
  }
  return absl::OkStatus();
}

absl::Status BpeTokenizer::CheckSurroundings() const {
  for (const std::vector<int32_t>* side : {&surroundings_.before, &surroundings_.after}) {
    for (int32_t id : *side) {
      if (id >= vocab_size() || tokens_[static_cast<size_t>(id)].bytes.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("tokenizer.json: post_processor: id ", id, " is no token"));
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> BpeTokenizer::ApplyNormalizers(absl::string_view text) const {
  std::string out(text);
  for (NormalForm form : normalizers_) {
    SLUICE_ASSIGN_OR_RETURN(out, Normalize(out, form));
  }
  return out;
}

absl::Status BpeTokenizer::EncodePlain(absl::string_view text, std::vector<int32_t>& ids) const {
  SLUICE_ASSIGN_OR_RETURN(const std::string normalized, ApplyNormalizers(text));
  for (const TextPiece& piece : normalized_tokens_.Split(normalized)) {
    if (piece.id >= 0) {
      ids.push_back(piece.id);
      continue;
    }
    std::vector<std::string> words = {std::string(piece.text)};
    SLUICE_RETURN_IF_ERROR(pre_tokenizer_->Apply(words));
    for (const std::string& word : words) bpe_->Encode(word, ids);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> BpeTokenizer::Encode(absl::string_view text,
                                                          bool add_special_tokens) const {
  if (text.size() > kMaxTextBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a text of ", text.size(), " bytes; the limit is ", kMaxTextBytes));
  }
  SLUICE_RETURN_IF_ERROR(CheckUtf8(text));
  std::vector<int32_t> ids;
  if (add_special_tokens) ids = surroundings_.before;
  for (const TextPiece& piece : raw_tokens_.Split(text)) {
    if (piece.id >= 0) {
      ids.push_back(piece.id);
    } else {
      SLUICE_RETURN_IF_ERROR(EncodePlain(piece.text, ids));
    }
  }
  if (add_special_tokens) ids.insert(ids.end(), surroundings_.after.begin(), surroundings_.after.end());
  return ids;
}

std::string BpeTokenizer::Decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const {
  std::string bytes;
  for (int32_t id : ids) {
    if (id < 0 || id >= vocab_size()) continue;
    const Token& token = tokens_[static_cast<size_t>(id)];
    if (!skip_special_tokens || !token.special) bytes += token.bytes;
  }
  return ReplaceInvalidUtf8(bytes);
}

std::string BpeTokenizer::TokenBytes(int32_t id) const {
  return id < 0 || id >= vocab_size() ? std::string() : tokens_[static_cast<size_t>(id)].bytes;
}

int32_t BpeTokenizer::TokenId(absl::string_view token) const {
  const auto it = added_ids_.find(token);
  return it != added_ids_.end() ? it->second : bpe_->TokenId(token);
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Tokenizer>> ParseTokenizer(absl::string_view tokenizer_json) {
  if (tokenizer_json.size() > kMaxFileBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("tokenizer.json: ", tokenizer_json.size(), " bytes; the limit is ", kMaxFileBytes));
  }
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(tokenizer_json, "tokenizer.json"));
  return BpeTokenizer::Parse(json);
}

}  // namespace sluice
