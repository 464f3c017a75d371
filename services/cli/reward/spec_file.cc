#include "services/cli/reward/spec_file.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"
#include "services/cli/message/message_file.h"
#include "services/cli/message/mistake.h"
#include "services/cli/message/suggestion.h"
#include "services/cli/message/text_check.h"
#include "services/wire/reward.h"
#include "sluice/v1/job.pb.h"

namespace sluice::cli {
namespace {

using google::protobuf::Descriptor;

constexpr int64_t kMaxSpecBytes = 4 << 20;

struct TopLevelName {
  std::string name, place;
};

// The fields that text format names outside all braces.
std::vector<TopLevelName> NamesOfText(const std::string& text) {
  using google::protobuf::io::Tokenizer;
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  TextMistakes ignored("");
  Tokenizer tokenizer(&stream, &ignored);
  tokenizer.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
  std::vector<TopLevelName> out;
  int depth = 0;
  bool after_colon = false;
  while (tokenizer.Next()) {
    const Tokenizer::Token& token = tokenizer.current();
    if (token.type == Tokenizer::TYPE_IDENTIFIER && depth == 0 && !after_colon)
      out.push_back({token.text, absl::StrCat(token.line + 1, ":", token.column + 1)});
    if (token.text == "{" || token.text == "<" || token.text == "[") ++depth;
    if (token.text == "}" || token.text == ">" || token.text == "]") --depth;
    after_colon = token.text == ":";
  }
  return out;
}

std::vector<TopLevelName> NamesOfJson(const std::string& text) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  std::vector<TopLevelName> out;
  if (!json.is_object()) return out;
  for (const auto& [name, value] : json.items())
    out.push_back({name, PlaceOf(text, text.find(absl::StrCat("\"", name, "\"")))});
  return out;
}

// JSON has the names in either spelling.
bool Has(const Descriptor& message, const std::string& name) {
  return message.FindFieldByName(name) != nullptr || message.FindFieldByCamelcaseName(name) != nullptr;
}

template <typename Test>
bool Any(const std::vector<TopLevelName>& names, Test test) {
  return std::any_of(names.begin(), names.end(), [&](const TopLevelName& n) { return test(n.name); });
}

absl::Status NoForm(const std::vector<TopLevelName>& names, const std::string& file) {
  std::vector<std::string> known;
  const Descriptor& component = *v1::RewardComponent::descriptor();
  for (int i = 0; i < component.oneof_decl(0)->field_count() && component.oneof_decl_count() > 0; ++i)
    known.push_back(component.oneof_decl(0)->field(i)->name());
  const std::string scorers = absl::StrJoin(known, ", ");
  known.insert(known.end(), {"component", "combination", "reward"});
  const std::string nearest = names.empty() ? "" : Nearest(names[0].name, known);
  return absl::InvalidArgumentError(absl::StrCat(
      file, ":", names.empty() ? "1:1" : names[0].place, ": ",
      names.empty() ? "no reward is given" : absl::StrCat("\"", names[0].name, "\" is no part of a reward"),
      nearest.empty() ? "" : absl::StrCat("; did you mean \"", nearest, "\"?"), "; a spec holds a scorer (",
      scorers, "), components, a reward or a whole job"));
}

// Reads `text` as a Message and takes the reward out of it; `prefix` is what the fields of a reward have in
// front that those of this message lack.
template <typename Message, typename Take>
absl::StatusOr<RewardSpec> ReadAs(const std::string& text, bool json, const std::string& name,
                                  const std::string& prefix, Take take) {
  Message message;
  SLUICE_RETURN_IF_ERROR(json ? ParseMessageJson(text, name, message)
                              : ParseMessageText(text, name, message));
  const absl::StatusOr<RewardSpec> spec = FromProto(take(message));
  if (spec.ok()) return spec;
  static const RE2* const kField =
      new RE2(R"((?s)^([a-z_]+(?:\[\d+\])?(?:\.[a-z0-9_]+(?:\[\d+\])?)*): (.*))");
  std::string field, what;
  if (!RE2::FullMatch(std::string(spec.status().message()), *kField, &field, &what))
    return Annotate(spec.status(), name);
  field = std::string(absl::StripPrefix(field, prefix));
  const std::string place = PlaceOfField(text, json, field, message);
  return absl::InvalidArgumentError(
      absl::StrCat(name, ":", place.empty() ? "1:1" : place, ": ", field, ": ", what));
}

v1::RewardSpec OneComponent(v1::RewardComponent component) {
  const auto* scorer =
      component.GetReflection()->GetOneofFieldDescriptor(component, component.GetDescriptor()->oneof_decl(0));
  if (component.name().empty() && scorer != nullptr) component.set_name(scorer->name());
  v1::RewardSpec out;
  *out.add_component() = std::move(component);
  return out;
}

}  // namespace

absl::StatusOr<RewardSpec> ParseRewardSpec(const std::string& file, const std::string& name) {
  const std::string text(absl::StripPrefix(file, "\xEF\xBB\xBF"));  // a byte order mark
  const bool json = absl::StartsWith(absl::StripLeadingAsciiWhitespace(text), "{");
  const std::vector<TopLevelName> names = json ? NamesOfJson(text) : NamesOfText(text);
  if (json && names.empty()) {  // for the mistake's place
    v1::RewardSpec unused;
    SLUICE_RETURN_IF_ERROR(ParseMessageJson(text, name, unused));
  }
  const auto in = [](const Descriptor* message) {
    return [message](const std::string& field) { return field != "name" && Has(*message, field); };
  };
  if (Any(names, in(v1::RewardSpec::descriptor()))) {
    return ReadAs<v1::RewardSpec>(text, json, name, "reward.", [](const auto& m) { return m; });
  }
  if (Any(names, in(v1::RewardComponent::descriptor()))) {
    return ReadAs<v1::RewardComponent>(text, json, name, "reward.component[0].", OneComponent);
  }
  if (Any(names, in(v1::JobSpec::descriptor()))) {
    return ReadAs<v1::JobSpec>(text, json, name, "", [](const auto& m) { return m.reward(); });
  }
  return NoForm(names, name);
}

absl::StatusOr<RewardSpec> ReadRewardSpec(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxSpecBytes));
  return ParseRewardSpec(text, path);
}

}  // namespace sluice::cli
