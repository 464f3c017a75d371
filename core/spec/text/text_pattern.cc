#include "core/spec/text/text_pattern.h"

#include <memory>
#include <utility>

#include "core/base/status.h"
#include "core/spec/text/json.h"

namespace sluice {

Finder FindString(std::string needle) {
  return [needle = std::move(needle)](absl::string_view text) -> absl::StatusOr<std::vector<ByteSpan>> {
    std::vector<ByteSpan> out;
    size_t at = text.find(needle);
    while (at != absl::string_view::npos) {
      out.emplace_back(at, at + needle.size());
      at = text.find(needle, at + needle.size());
    }
    return out;
  };
}

absl::StatusOr<Finder> FindRegex(absl::string_view pattern, const std::string& where) {
  absl::StatusOr<std::unique_ptr<const Regex>> regex = Regex::Compile(pattern);
  if (!regex.ok()) return Annotate(regex.status(), where);
  std::shared_ptr<const Regex> shared = *std::move(regex);  // std::function needs a copyable closure
  return Finder([shared](absl::string_view text) { return shared->FindAll(text); });
}

absl::StatusOr<TextPattern> ParseTextPattern(const nlohmann::json* json, const std::string& where) {
  if (json == nullptr) return absl::InvalidArgumentError(where + ": is missing");
  JsonFields in(*json, where);
  const char* kind = in.Has("String") ? "String" : "Regex";
  const std::string text = in.String(kind);
  if (text.empty()) in.Fail(kind, "is empty");
  SLUICE_RETURN_IF_ERROR(in.status());
  if (in.Has("String")) return TextPattern{FindString(text), text};
  SLUICE_ASSIGN_OR_RETURN(Finder find, FindRegex(text, where));
  return TextPattern{std::move(find), ""};
}

absl::StatusOr<std::string> ReplaceMatches(absl::string_view text, const Finder& find,
                                           absl::string_view content) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<ByteSpan> matches, find(text));
  std::string out;
  size_t at = 0;
  for (const auto& [begin, end] : matches) {
    out.append(text.data() + at, begin - at);
    out.append(content.data(), content.size());
    at = end;
  }
  out.append(text.data() + at, text.size() - at);
  return out;
}

}  // namespace sluice
