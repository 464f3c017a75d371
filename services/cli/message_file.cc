#include "services/cli/message_file.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "re2/re2.h"
#include "services/cli/suggestion.h"
#include "sluice/v1/job.pb.h"

namespace sluice::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

constexpr size_t kMaxMistakes = 8;
constexpr int kMaxNesting = 32;

// The first enum field of this name in the file of jobs, which has the text's messages.
const google::protobuf::FieldDescriptor* EnumField(const std::string& name) {
  const google::protobuf::FileDescriptor& file = *v1::JobSpec::descriptor()->file();
  for (int i = 0; i < file.message_type_count(); ++i) {
    const auto* field = file.message_type(i)->FindFieldByName(name);
    if (field != nullptr && field->enum_type() != nullptr) return field;
  }
  return nullptr;
}

// protobuf says: Unknown enumeration value of "PARE" for field "mode".
std::string ExplainValue(const std::string& value, const google::protobuf::FieldDescriptor& field) {
  std::vector<std::string> names;
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    if (field.enum_type()->value(i)->number() != 0) names.push_back(field.enum_type()->value(i)->name());
  }
  return absl::StrCat(field.containing_type()->name(), " has no ", field.name(), " ", value, "; it may be ",
                      absl::StrJoin(names, ", "));
}

// protobuf says: Message type "sluice.v1.JobSpec" has no field named "nam".
std::string Explain(const std::string& message) {
  std::string type, field, value;
  static const RE2* const kValue =
      new RE2(R"re(Unknown enumeration value of "([^"]+)" for field "([^"]+)".*)re");
  if (RE2::FullMatch(message, *kValue, &value, &field) && EnumField(field) != nullptr)
    return ExplainValue(value, *EnumField(field));
  static const RE2* const kUnknown = new RE2(R"re(Message type "([^"]+)" has no field named "([^"]+)")re");
  if (!RE2::PartialMatch(message, *kUnknown, &type, &field)) return message;
  const Descriptor* descriptor =
      google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(type);
  return descriptor == nullptr ? message : NoSuchField(*descriptor, field);
}

// Where the member that protobuf's error names stands: it gives no place itself.
std::string PlaceOfMember(absl::string_view text, const std::string& member) {
  const size_t at = text.find(absl::StrCat("\"", member, "\""));
  return at == absl::string_view::npos ? "1:1" : PlaceOf(text, at);
}

}  // namespace

void TextMistakes::AddError(int line, int column, const std::string& message) {
  if (lines_.size() < kMaxMistakes)
    lines_.push_back(absl::StrCat(name_, ":", line + 1, ":", column + 1, ": ", Explain(message)));
}

absl::Status TextMistakes::ToStatus() const {
  if (lines_.empty()) return absl::InvalidArgumentError(absl::StrCat(name_, ": cannot be read"));
  return absl::InvalidArgumentError(absl::StrJoin(lines_, "\n"));
}

std::string NoSuchField(const Descriptor& message, const std::string& field) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) names.push_back(message.field(i)->name());
  const std::string nearest = Nearest(field, names);
  return absl::StrCat(message.name(), " has no field \"", field, "\"; ",
                      nearest.empty() ? absl::StrCat("it has ", absl::StrJoin(names, ", "))
                                      : absl::StrCat("did you mean \"", nearest, "\"?"));
}

absl::Status ParseMessageText(absl::string_view text, const std::string& name, Message& out) {
  TextMistakes mistakes(name);
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&mistakes);
  parser.SetRecursionLimit(kMaxNesting);
  return parser.ParseFromString(std::string(text), &out) ? absl::OkStatus() : mistakes.ToStatus();
}

absl::Status ParseMessageJson(absl::string_view text, const std::string& name, Message& out) {
  try {  // for the place of a mistake in the syntax; protobuf tells none
    nlohmann::json::parse(text.begin(), text.end()).size();
  } catch (const nlohmann::json::parse_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ":", PlaceOf(text, error.byte > 0 ? error.byte - 1 : 0), ": ", error.what()));
  }
  const auto status = google::protobuf::util::JsonStringToMessage(std::string(text), &out);
  if (status.ok()) return absl::OkStatus();
  const std::string message(status.message().data(), status.message().size());
  std::string member;
  RE2::PartialMatch(message, R"re(([A-Za-z_0-9]+)(?:\[\d+\])?: )re", &member) ||
      RE2::PartialMatch(message, R"re(^\(([A-Za-z_0-9]+))re", &member);
  return absl::InvalidArgumentError(
      absl::StrCat(name, ":", member.empty() ? "1:1" : PlaceOfMember(text, member), ": ", message));
}

std::string PlaceOf(absl::string_view text, size_t offset) {
  size_t line = 1, start = 0;
  for (size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++line;
      start = i + 1;
    }
  }
  return absl::StrCat(line, ":", offset - start + 1);
}

std::string PlaceOfField(const std::string& text, bool json, const std::string& field,
                         const Message& message) {
  if (json) return PlaceOfMember(text, field.substr(field.rfind('.') + 1));
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
