#include "services/cli/message/message_file.h"

#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "services/cli/message/json_check.h"
#include "services/cli/message/mistake.h"
#include "services/cli/message/text_check.h"

namespace sluice::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Without the JSON parser's own name and place, which stand in front.
absl::string_view SyntaxMistake(absl::string_view message) {
  const size_t begin = message.find(": ");
  return begin == absl::string_view::npos ? message : message.substr(begin + 2);
}

}  // namespace

absl::Status ParseMessageText(absl::string_view text, const std::string& name, Message& out) {
  absl::ConsumePrefix(&text, kByteOrderMark);
  TextMistakes mistakes(name);
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&mistakes);
  parser.SetRecursionLimit(kMaxNesting);
  if (parser.ParseFromString(std::string(text), &out)) return absl::OkStatus();
  const std::string found = FindTextMistake(text, *out.GetDescriptor());
  return found.empty() ? mistakes.ToStatus() : absl::InvalidArgumentError(absl::StrCat(name, ":", found));
}

absl::Status ParseMessageJson(absl::string_view text, const std::string& name, Message& out) {
  absl::ConsumePrefix(&text, kByteOrderMark);
  try {  // for the place of a mistake in the syntax; protobuf tells none
    nlohmann::json::parse(text.begin(), text.end()).size();
  } catch (const nlohmann::json::parse_error& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ":", PlaceOf(text, error.byte > 0 ? error.byte - 1 : 0), ": ", SyntaxMistake(error.what())));
  }
  const auto status = google::protobuf::util::JsonStringToMessage(std::string(text), &out);
  if (status.ok()) return absl::OkStatus();
  const std::string found = FindJsonMistake(text, *out.GetDescriptor());
  return absl::InvalidArgumentError(absl::StrCat(
      name, ":",
      found.empty()
          ? absl::StrCat("1:1: ", absl::string_view(status.message().data(), status.message().size()))
          : found));
}

std::string PlaceOfField(const std::string& text, bool json, const std::string& field,
                         const Message& message) {
  if (json) return PlaceInJson(text, field);
  const std::unique_ptr<Message> parsed(message.New());
  TextFormat::ParseInfoTree tree;
  TextMistakes mistakes("");
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&mistakes);
  parser.SetRecursionLimit(kMaxNesting);
  parser.WriteLocationsTo(&tree);
  if (!parser.ParseFromString(text, parsed.get())) return "";
  std::string place;
  TextFormat::ParseInfoTree* at = &tree;
  const Descriptor* type = message.GetDescriptor();
  for (absl::string_view part : absl::StrSplit(field, '.')) {
    const std::pair<absl::string_view, absl::string_view> name =
        absl::StrSplit(part, absl::MaxSplits('[', 1));
    const auto* member = type == nullptr ? nullptr : type->FindFieldByName(std::string(name.first));
    if (member == nullptr || at == nullptr) break;
    int index = -1;
    if (member->is_repeated() && !absl::SimpleAtoi(absl::StripSuffix(name.second, "]"), &index)) index = 0;
    const TextFormat::ParseLocation location = at->GetLocation(member, index);
    if (location.line < 0) break;
    place = absl::StrCat(location.line + 1, ":", location.column + 1);
    at = at->GetTreeForNested(member, index);
    type = member->message_type();
  }
  return place;
}

}  // namespace sluice::cli
