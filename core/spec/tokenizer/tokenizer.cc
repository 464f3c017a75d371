#include "core/spec/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status.h"
#include "core/spec/text/json.h"
#include "core/spec/text/unicode.h"
#include "core/spec/tokenizer/added_tokens.h"
#include "core/spec/tokenizer/bpe.h"
#include "core/spec/tokenizer/bpe_encoder.h"
#include "core/spec/tokenizer/byte_level.h"
#include "core/spec/tokenizer/normalizer.h"
#include "core/spec/tokenizer/post_processor.h"
#include "core/spec/tokenizer/pre_tokenizer.h"
#include "core/spec/tokenizer/text_decoder.h"

namespace sluice {
namespace {

constexpr size_t kMaxFileBytes = 512 << 20;
constexpr size_t kMaxTextBytes = 64 << 20;

struct Token {
  std::string text;  // as in the vocabulary; empty where there is none
  bool special = false;
};

class BpeTextDecoder final : public TextDecoder {
 public:
  BpeTextDecoder(const std::vector<Token>& tokens, const DecoderSteps& steps, bool skip_special_tokens)
      : tokens_(tokens), steps_(steps), skip_special_tokens_(skip_special_tokens) {}
  std::string Next(int32_t id) override {
    if (id < 0 || static_cast<size_t>(id) >= tokens_.size()) return "";
    const Token& token = tokens_[static_cast<size_t>(id)];
    if (token.text.empty() || (token.special && skip_special_tokens_)) return "";
    return steps_.Push(token.text);
  }
  std::string Pending() const override { return steps_.Pending(); }

 private:
  const std::vector<Token>& tokens_;
  DecoderSteps steps_;
  bool skip_special_tokens_;
};

class BpeTokenizer final : public Tokenizer {
 public:
  static absl::StatusOr<std::unique_ptr<const Tokenizer>> Parse(const nlohmann::json& json);

  absl::StatusOr<std::vector<int32_t>> Encode(absl::string_view text, bool add_special_tokens) const override;
  std::vector<std::string> UnknownCharacters(absl::string_view text) const override;
  std::unique_ptr<TextDecoder> NewDecoder(bool skip_special_tokens) const override {
    return std::make_unique<BpeTextDecoder>(tokens_, decoder_.steps, skip_special_tokens);
  }
  std::string TokenBytes(int32_t id) const override;
  bool IsSpecial(int32_t id) const override { return Known(id) && tokens_[static_cast<size_t>(id)].special; }
  int32_t TokenId(absl::string_view token) const override;
  int32_t vocab_size() const override { return static_cast<int32_t>(tokens_.size()); }

 private:
  bool Known(int32_t id) const { return id >= 0 && id < vocab_size(); }
  absl::Status AddTokens(const std::vector<AddedToken>& added);
  absl::Status CheckSurroundings() const;
  absl::Status EncodeText(absl::string_view text, BpeEncoder& encoder, std::vector<int32_t>& ids) const;
  absl::Status EncodePlain(absl::string_view text, bool first, BpeEncoder& encoder,
                           std::vector<int32_t>& ids) const;

  std::unique_ptr<const Bpe> bpe_;
  std::unique_ptr<const Normalizer> normalizer_;       // null: none
  std::unique_ptr<const PreTokenizer> pre_tokenizer_;  // null: none
  ParsedDecoder decoder_;
  Surroundings surroundings_;
  AddedTokenMatcher raw_tokens_, normalized_tokens_;
  absl::flat_hash_map<std::string, int32_t> added_ids_;
  std::vector<Token> tokens_;  // by id
};

absl::StatusOr<std::unique_ptr<const Tokenizer>> BpeTokenizer::Parse(const nlohmann::json& json) {
  JsonFields in(json, "tokenizer.json");
  SLUICE_RETURN_IF_ERROR(in.status());
  if (!in.Has("model")) in.Fail("model", "is missing");
  SLUICE_RETURN_IF_ERROR(in.status());
  auto out = std::make_unique<BpeTokenizer>();
  SLUICE_ASSIGN_OR_RETURN(out->bpe_, Bpe::Parse(*in.Find("model")));
  SLUICE_ASSIGN_OR_RETURN(out->normalizer_,
                          ParseNormalizer(in.Find("normalizer"), "tokenizer.json: normalizer"));
  SLUICE_ASSIGN_OR_RETURN(out->pre_tokenizer_,
                          ParsePreTokenizer(in.Find("pre_tokenizer"), "tokenizer.json: pre_tokenizer"));
  SLUICE_ASSIGN_OR_RETURN(out->surroundings_,
                          ParsePostProcessor(in.Find("post_processor"), "tokenizer.json: post_processor"));
  SLUICE_ASSIGN_OR_RETURN(out->decoder_, ParseDecoder(in.Find("decoder"), "tokenizer.json: decoder"));
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
  for (const auto& [token, id] : bpe_->vocabulary()) tokens_[static_cast<size_t>(id)].text = token;
  for (const AddedToken& token : added) {
    Token& place = tokens_[static_cast<size_t>(token.id)];
    const int32_t known = bpe_->TokenId(token.content);
    if ((known >= 0 && known != token.id) || (!place.text.empty() && place.text != token.content)) {
      return absl::InvalidArgumentError(absl::StrCat("tokenizer.json: added_tokens: \"",
                                                     token.content.substr(0, 64), "\" has id ", token.id,
                                                     ", the vocabulary says otherwise"));
    }
    added_ids_.emplace(token.content, token.id);
    std::string written = token.content;
    if (token.normalized && normalizer_ != nullptr) SLUICE_RETURN_IF_ERROR(normalizer_->Apply(written));
    place = {written, token.special};  // the tokenizers library, too, decodes it as normalized
    (token.normalized ? normalized_tokens_ : raw_tokens_).Add(token, written);
  }
  return absl::OkStatus();
}

absl::Status BpeTokenizer::CheckSurroundings() const {
  for (const std::vector<int32_t>* side : {&surroundings_.before, &surroundings_.after}) {
    for (int32_t id : *side) {
      if (!Known(id) || tokens_[static_cast<size_t>(id)].text.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("tokenizer.json: post_processor: id ", id, " is no token"));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status BpeTokenizer::EncodePlain(absl::string_view text, bool first, BpeEncoder& encoder,
                                       std::vector<int32_t>& ids) const {
  std::string normalized(text);
  if (normalizer_ != nullptr) SLUICE_RETURN_IF_ERROR(normalizer_->Apply(normalized));
  for (const TextPiece& part : normalized_tokens_.Split(normalized)) {
    if (part.id >= 0) {
      ids.push_back(part.id);
      continue;
    }
    if (pre_tokenizer_ == nullptr) {
      encoder.Encode(part.text, ids);
      continue;
    }
    std::vector<Piece> pieces = {{std::string(part.text), first && part.text.data() == normalized.data()}};
    SLUICE_RETURN_IF_ERROR(pre_tokenizer_->Apply(pieces));
    for (const Piece& piece : pieces) encoder.Encode(piece.text, ids);
  }
  return absl::OkStatus();
}

absl::Status BpeTokenizer::EncodeText(absl::string_view text, BpeEncoder& encoder,
                                      std::vector<int32_t>& ids) const {
  if (text.size() > kMaxTextBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a text of ", text.size(), " bytes; the limit is ", kMaxTextBytes));
  }
  SLUICE_RETURN_IF_ERROR(CheckUtf8(text));
  for (const TextPiece& piece : raw_tokens_.Split(text)) {
    if (piece.id >= 0) {
      ids.push_back(piece.id);
    } else {
      SLUICE_RETURN_IF_ERROR(EncodePlain(piece.text, piece.text.data() == text.data(), encoder, ids));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<int32_t>> BpeTokenizer::Encode(absl::string_view text,
                                                          bool add_special_tokens) const {
  std::vector<int32_t> ids;
  if (add_special_tokens) ids = surroundings_.before;
  BpeEncoder encoder(*bpe_);
  SLUICE_RETURN_IF_ERROR(EncodeText(text, encoder, ids));
  if (add_special_tokens) ids.insert(ids.end(), surroundings_.after.begin(), surroundings_.after.end());
  return ids;
}

std::vector<std::string> BpeTokenizer::UnknownCharacters(absl::string_view text) const {
  std::vector<int32_t> ids;
  BpeEncoder encoder(*bpe_);
  if (!EncodeText(text, encoder, ids).ok()) return {};
  std::vector<std::string> out = encoder.dropped();
  for (std::string& character : out) {
    const std::string byte = decoder_.byte_level ? FromByteLevel(character) : character;
    if (byte.size() == 1) character = absl::StrFormat("<0x%02X>", static_cast<uint8_t>(byte[0]));
  }
  return out;
}

std::string BpeTokenizer::TokenBytes(int32_t id) const {
  if (!Known(id) || tokens_[static_cast<size_t>(id)].text.empty()) return "";
  const std::string& text = tokens_[static_cast<size_t>(id)].text;
  if (decoder_.byte_level) return FromByteLevel(text);
  for (int byte = 0x80; byte < 0x100; ++byte) {  // half a character, which decoding would replace
    if (bpe_->ByteId(static_cast<uint8_t>(byte)) == id) return std::string(1, static_cast<char>(byte));
  }
  DecoderSteps steps = decoder_.within;
  const std::string certain = steps.Push(text);
  return certain + steps.Pending();
}

int32_t BpeTokenizer::TokenId(absl::string_view token) const {
  const auto it = added_ids_.find(token);
  return it != added_ids_.end() ? it->second : bpe_->TokenId(token);
}

}  // namespace

std::string Tokenizer::Decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const {
  const std::unique_ptr<TextDecoder> decoder = NewDecoder(skip_special_tokens);
  std::string out;
  for (int32_t id : ids) out += decoder->Next(id);
  return out + decoder->Pending();
}

absl::StatusOr<std::unique_ptr<const Tokenizer>> ParseTokenizer(absl::string_view tokenizer_json) {
  if (tokenizer_json.size() > kMaxFileBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("tokenizer.json: ", tokenizer_json.size(), " bytes; the limit is ", kMaxFileBytes));
  }
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(tokenizer_json, "tokenizer.json"));
  return BpeTokenizer::Parse(json);
}

}  // namespace sluice
