#include "core/spec/tokenizer/normalizer.h"

#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/text/json.h"
#include "core/spec/text/text_pattern.h"
#include "core/spec/text/unicode.h"

namespace sluice {
namespace {

constexpr size_t kMaxParts = 64;

// A step that is a function of the text.
class Step final : public Normalizer {
 public:
  using Function = std::function<absl::StatusOr<std::string>(const std::string&)>;
  explicit Step(Function function) : function_(std::move(function)) {}
  absl::Status Apply(std::string& text) const override {
    SLUICE_ASSIGN_OR_RETURN(text, function_(text));
    if (text.size() <= kMaxBytes) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("the normalized text is longer than ", kMaxBytes, " bytes"));
  }

 private:
  Function function_;
};

class Sequence final : public Normalizer {
 public:
  explicit Sequence(std::vector<std::unique_ptr<const Normalizer>> parts) : parts_(std::move(parts)) {}
  absl::Status Apply(std::string& text) const override {
    for (const auto& part : parts_) SLUICE_RETURN_IF_ERROR(part->Apply(text));
    return absl::OkStatus();
  }

 private:
  std::vector<std::unique_ptr<const Normalizer>> parts_;
};

using Parsed = absl::StatusOr<std::unique_ptr<const Normalizer>>;

Parsed MakeStep(Step::Function function) { return std::make_unique<Step>(std::move(function)); }

Parsed ParseStrip(JsonFields& in) {
  const bool left = in.BoolOr("strip_left", true), right = in.BoolOr("strip_right", true);
  SLUICE_RETURN_IF_ERROR(in.status());
  return MakeStep([left, right](const std::string& text) -> absl::StatusOr<std::string> {
    return std::string(StripWhitespace(text, left, right));
  });
}

Parsed ParseReplace(JsonFields& in, const std::string& where) {
  const std::string content = in.String("content");
  SLUICE_RETURN_IF_ERROR(in.status());
  SLUICE_ASSIGN_OR_RETURN(TextPattern pattern, ParseTextPattern(in.Find("pattern"), where + ".pattern"));
  return MakeStep([content, find = std::move(pattern.find)](const std::string& text) {
    return ReplaceMatches(text, find, content);
  });
}

Parsed ParsePrepend(JsonFields& in) {
  const std::string prefix = in.String("prepend");
  SLUICE_RETURN_IF_ERROR(in.status());
  return MakeStep([prefix](const std::string& text) -> absl::StatusOr<std::string> {
    return text.empty() ? text : prefix + text;
  });
}

Parsed ParseSequence(JsonFields& in, const std::string& where) {
  const nlohmann::json* list = in.Find("normalizers");
  if (list == nullptr || !list->is_array() || list->size() > kMaxParts) {
    in.Fail("normalizers", absl::StrCat("is not a list of at most ", kMaxParts));
    return in.status();
  }
  std::vector<std::unique_ptr<const Normalizer>> parts;
  for (size_t i = 0; i < list->size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(auto part,
                            ParseNormalizer(&(*list)[i], absl::StrCat(where, ".normalizers[", i, "]")));
    parts.push_back(std::move(part));
  }
  return std::make_unique<Sequence>(std::move(parts));
}

}  // namespace

Parsed ParseNormalizer(const nlohmann::json* json, const std::string& where) {
  if (json == nullptr) return nullptr;
  JsonFields in(*json, where);
  const std::string type = in.String("type");
  SLUICE_RETURN_IF_ERROR(in.status());
  for (const auto& [name, form] : {std::make_pair("NFC", NormalForm::kNfc),
                                   {"NFD", NormalForm::kNfd},
                                   {"NFKC", NormalForm::kNfkc},
                                   {"NFKD", NormalForm::kNfkd}}) {
    if (type != name) continue;
    return MakeStep([form = form](const std::string& text) { return Normalize(text, form); });
  }
  using Text = absl::StatusOr<std::string>;
  if (type == "Lowercase") return MakeStep([](const std::string& text) -> Text { return ToLower(text); });
  if (type == "StripAccents")
    return MakeStep([](const std::string& text) -> Text { return WithoutMarks(text); });
  if (type == "Strip") return ParseStrip(in);
  if (type == "Replace") return ParseReplace(in, where);
  if (type == "Prepend") return ParsePrepend(in);
  if (type == "Sequence") return ParseSequence(in, where);
  in.Fail("type", absl::StrCat("is \"", type.substr(0, 64),
                               "\"; supported are Sequence, NFC, NFD, NFKC, NFKD, Lowercase, Strip, "
                               "StripAccents, Replace and Prepend"));
  return in.status();
}

}  // namespace sluice
