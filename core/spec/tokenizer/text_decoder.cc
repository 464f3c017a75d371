#include "core/spec/tokenizer/text_decoder.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "core/spec/text/json.h"
#include "core/spec/text/text_pattern.h"
#include "core/spec/tokenizer/decoder_steps.h"
#include "core/spec/tokenizer/metaspace.h"

namespace sluice {
namespace {

constexpr size_t kMaxDecoders = 32;
constexpr int64_t kMaxStrip = 1024;

class Parser {
 public:
  absl::Status Read(const nlohmann::json& json, const std::string& where) {
    JsonFields in(json, where);
    const std::string type = in.String("type");
    SLUICE_RETURN_IF_ERROR(in.status());
    if (type == "Sequence") return ReadSequence(in, where);
    if (type == "Replace") return ReadReplace(in, where);
    if (type == "Strip") return ReadStrip(in);
    if (type == "Fuse") {
      joined_ = true;
      return absl::OkStatus();
    }
    if (type != "ByteLevel" && type != "ByteFallback" && type != "Metaspace") {
      in.Fail("type", absl::StrCat("is \"", type.substr(0, 64),
                                   "\"; supported are Sequence, ByteLevel, "
                                   "ByteFallback, Fuse, Strip, Replace "
                                   "and Metaspace"));
      return in.status();
    }
    if (joined_) {
      in.Fail("type", absl::StrCat("is \"", type, "\" behind a step that joins the tokens"));
      return in.status();
    }
    if (type == "Metaspace") return ReadMetaspaceStep(in);
    if (type == "ByteFallback") {
      AddBoth(JoinByteTokens());
      return absl::OkStatus();
    }
    out_.byte_level = true;
    joined_ = true;
    AddBoth(JoinByteLevel());
    return absl::OkStatus();
  }
  ParsedDecoder Take() { return std::move(out_); }

 private:
  void AddBoth(std::unique_ptr<DecoderStep> step) {
    out_.within.Add(step->Clone());
    out_.steps.Add(std::move(step));
  }

  absl::Status ReadSequence(JsonFields& in, const std::string& where) {
    const nlohmann::json* list = in.Find("decoders");
    if (list == nullptr || !list->is_array() || list->size() > kMaxDecoders) {
      in.Fail("decoders", absl::StrCat("is not a list of at most ", kMaxDecoders));
      return in.status();
    }
    for (size_t i = 0; i < list->size(); ++i) {
      SLUICE_RETURN_IF_ERROR(Read((*list)[i], absl::StrCat(where, ".decoders[", i, "]")));
    }
    return absl::OkStatus();
  }

  absl::Status ReadReplace(JsonFields& in, const std::string& where) {
    const std::string content = in.String("content");
    SLUICE_RETURN_IF_ERROR(in.status());
    SLUICE_ASSIGN_OR_RETURN(TextPattern pattern, ParseTextPattern(in.Find("pattern"), where + ".pattern"));
    if (!joined_) {
      AddBoth(ReplaceInTokens(std::move(pattern.find), content));
      return absl::OkStatus();
    }
    if (pattern.literal.empty()) {
      in.Fail("pattern", "is a regular expression behind a step that joins the tokens");
      return in.status();
    }
    AddBoth(ReplaceInText(pattern.literal, content));
    return absl::OkStatus();
  }

  absl::Status ReadStrip(JsonFields& in) {
    const std::string content = in.String("content");
    const auto start = static_cast<size_t>(in.IntOr("start", 0, 0, kMaxStrip));
    const auto stop = static_cast<size_t>(in.IntOr("stop", 0, 0, kMaxStrip));
    if (content.empty()) in.Fail("content", "is empty");
    SLUICE_RETURN_IF_ERROR(in.status());
    if (!joined_) {
      AddBoth(StripTokens(content, start, stop));
    } else {
      out_.steps.Add(StripText(content, start, stop));
      out_.within.Add(StripText(content, 0, 0));
    }
    return absl::OkStatus();
  }

  absl::Status ReadMetaspaceStep(JsonFields& in) {
    SLUICE_ASSIGN_OR_RETURN(const Metaspace metaspace, ReadMetaspace(in));
    out_.steps.Add(UnescapeSpaces(metaspace.replacement, metaspace.prepend != Metaspace::Prepend::kNever));
    out_.within.Add(UnescapeSpaces(metaspace.replacement, false));
    return absl::OkStatus();
  }

  ParsedDecoder out_;
  bool joined_ = false;
};

}  // namespace

DecoderSteps::DecoderSteps(const DecoderSteps& other) {
  steps_.reserve(other.steps_.size());
  for (const auto& step : other.steps_) steps_.push_back(step->Clone());
}

void DecoderSteps::Through(DecoderStep& step, std::vector<std::string>& tokens, bool finish) {
  std::vector<std::string> out;
  for (std::string& token : tokens) step.Push(std::move(token), out);
  if (finish) step.Finish(out);
  tokens = std::move(out);
}

std::string DecoderSteps::Push(std::string token) {
  std::vector<std::string> tokens;
  tokens.push_back(std::move(token));
  for (const auto& step : steps_) Through(*step, tokens, false);
  return absl::StrJoin(tokens, "");
}

std::string DecoderSteps::Pending() const {
  DecoderSteps rest = *this;
  std::vector<std::string> tokens;
  for (const auto& step : rest.steps_) Through(*step, tokens, true);
  return absl::StrJoin(tokens, "");
}

absl::StatusOr<ParsedDecoder> ParseDecoder(const nlohmann::json* json, const std::string& where) {
  if (json == nullptr) {
    return absl::InvalidArgumentError(where +
                                      " is missing: ByteLevel, or the steps of SentencePiece, are expected");
  }
  Parser parser;
  SLUICE_RETURN_IF_ERROR(parser.Read(*json, where));
  return parser.Take();
}

}  // namespace sluice
