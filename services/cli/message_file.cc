#include "services/cli/message_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/spec/text/json_rows.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
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

constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

const google::protobuf::DescriptorPool& Pool() { return *google::protobuf::DescriptorPool::generated_pool(); }

// The first enum field of this name in the file of jobs, which has the text's messages.
const google::protobuf::FieldDescriptor* EnumField(const std::string& name) {
  const google::protobuf::FileDescriptor& file = *v1::JobSpec::descriptor()->file();
  for (int i = 0; i < file.message_type_count(); ++i) {
    const auto* field = file.message_type(i)->FindFieldByName(name);
    if (field != nullptr && field->enum_type() != nullptr) return field;
  }
  return nullptr;
}

std::string ValuesOf(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) names.push_back(type.value(i)->name());
  }
  return absl::StrJoin(names, ", ");
}

// protobuf says: Unknown enumeration value of "PARE" for field "mode".
std::string ExplainValue(const std::string& value, const google::protobuf::FieldDescriptor& field) {
  return absl::StrCat(field.containing_type()->name(), " has no ", field.name(), " ", value, "; it may be ",
                      ValuesOf(*field.enum_type()));
}

// protobuf says: Message type "sluice.v1.JobSpec" has no field named "nam".
std::string Explain(const std::string& message) {
  std::string type, field, value;
  static const RE2* const kValue =
      new RE2(R"re(Unknown enumeration value of "([^"]+)" for field "([^"]+)".*)re");
  if (RE2::FullMatch(message, *kValue, &value, &field) && EnumField(field) != nullptr)
    return ExplainValue(value, *EnumField(field));
  static const RE2* const kQuoted = new RE2(R"re((?s)Expected integer or identifier, got: (.*))re");
  if (RE2::FullMatch(message, *kQuoted, &value))
    return absl::StrCat("expected the name of a value, without quotes, got: ", value);
  static const RE2* const kUnknown = new RE2(R"re(Message type "([^"]+)" has no field named "([^"]+)")re");
  if (!RE2::PartialMatch(message, *kUnknown, &type, &field)) return message;
  const Descriptor* descriptor = Pool().FindMessageTypeByName(type);
  return descriptor == nullptr ? message : NoSuchField(*descriptor, field);
}

// What protobuf says where the text is at its end: it expected something and got, or found, nothing.
bool IsEnd(const std::string& message) {
  return RE2::FullMatch(message, R"re((?s).*(?:got: |found ""\.))re");
}

// "3:17" of the innermost bracket that is not closed; empty where all are.
std::string UnclosedBracket(absl::string_view text) {
  google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  TextMistakes ignored("");
  google::protobuf::io::Tokenizer tokenizer(&stream, &ignored);
  tokenizer.set_comment_style(google::protobuf::io::Tokenizer::SH_COMMENT_STYLE);
  std::vector<std::string> open;
  while (tokenizer.Next()) {
    const auto& token = tokenizer.current();
    if (token.text == "{" || token.text == "<" || token.text == "[")
      open.push_back(absl::StrCat("\"", token.text, "\" at ", token.line + 1, ":", token.column + 1));
    if ((token.text == "}" || token.text == ">" || token.text == "]") && !open.empty()) open.pop_back();
  }
  return open.empty() ? "" : open.back();
}

// The elements of the list `text`, which is right JSON.
std::vector<absl::string_view> ElementsOf(absl::string_view text) {
  std::vector<absl::string_view> out;
  size_t begin = 1;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      depth += (c == '{' || c == '[') - (c == '}' || c == ']');
      if ((c == ',' && depth == 1) || (depth == 0 && i + 1 >= text.size())) {
        out.push_back(absl::StripAsciiWhitespace(text.substr(begin, i - begin)));
        begin = i + 1;
      }
    }
  }
  return out;
}

// "soft_limit" and "softLimit" are one name.
bool SameName(absl::string_view a, absl::string_view b) {
  const auto plain = [](absl::string_view name) {
    return absl::AsciiStrToLower(absl::StrReplaceAll(name, {{"_", ""}}));
  };
  return plain(a) == plain(b);
}

// The place of the innermost member of `path` ("component[1].code.language") that the JSON `text` has.
std::string PlaceInJson(absl::string_view text, absl::string_view path) {
  absl::string_view at = absl::StripAsciiWhitespace(text);
  size_t place = absl::string_view::npos;
  for (absl::string_view part : absl::StrSplit(path, '.')) {
    const std::pair<absl::string_view, absl::string_view> name =
        absl::StrSplit(part, absl::MaxSplits('[', 1));
    const auto members = RawMembers(at);
    if (!members) break;
    const auto member = std::find_if(members->begin(), members->end(),
                                     [&](const RawMember& m) { return SameName(m.name, name.first); });
    if (member == members->end()) break;
    at = member->value;
    const size_t value = static_cast<size_t>(at.data() - text.data());
    place = text.rfind('"', text.rfind('"', value - 1) - 1);  // of its name
    size_t index = 0;
    if (absl::SimpleAtoi(absl::StripSuffix(name.second, "]"), &index) && !at.empty() && at[0] == '[') {
      const std::vector<absl::string_view> elements = ElementsOf(at);
      if (index >= elements.size()) break;
      at = elements[index];
      place = static_cast<size_t>(at.data() - text.data());
    }
  }
  return place == absl::string_view::npos ? "" : PlaceOf(text, place);
}

// The message that a path leads to; null where it leads elsewhere.
const Descriptor* TypeAt(const Descriptor& root, absl::string_view path) {
  const Descriptor* type = &root;
  for (absl::string_view part : absl::StrSplit(path, '.', absl::SkipEmpty())) {
    const std::string name(part.substr(0, part.find('[')));
    const auto* field = type->FindFieldByName(name);
    if (field == nullptr) field = type->FindFieldByCamelcaseName(name);
    type = field == nullptr ? nullptr : field->message_type();
    if (type == nullptr) return nullptr;
  }
  return type;
}

// Without the parser's own name and place.
std::string SyntaxMistake(const std::string& message) {
  std::string what;
  static const RE2* const kWhat = new RE2(R"re((?s)\[json\.[^\]]*\] parse error at [^:]*: (.*))re");
  return RE2::FullMatch(message, *kWhat, &what) ? what : message;
}

// What protobuf's JSON reader says, with the path of the member: (component[1].code.language): invalid value
// "PYTON" for type type.googleapis.com/sluice.v1.CodeScorer.Language, or (component[1].code) langage: Cannot
// find field.
std::string ExplainJson(absl::string_view text, const std::string& message, const Descriptor& root) {
  static const RE2* const kPath = new RE2(R"re((?s)\(?([A-Za-z_0-9.\[\]]*)\)?(?: ([A-Za-z_0-9]+))?: (.*))re");
  std::string path, unknown, what, value, type;
  if (!RE2::FullMatch(message, *kPath, &path, &unknown, &what)) return absl::StrCat("1:1: ", message);
  std::string place =
      PlaceInJson(text, unknown.empty() ? path : absl::StrCat(path, path.empty() ? "" : ".", unknown));
  if (place.empty()) place = "1:1";
  static const RE2* const kEnum =
      new RE2(R"re((?s)invalid value (.*) for type type\.googleapis\.com/(.*))re");
  if (RE2::FullMatch(what, *kEnum, &value, &type)) {
    if (const auto* names = Pool().FindEnumTypeByName(type))
      return absl::StrCat(place, ": ", path, ": has no value ", value, "; it may be ", ValuesOf(*names));
  }
  if (what == "Cannot find field.") {
    const Descriptor* message_type = unknown.empty() ? &root : TypeAt(root, path);
    if (message_type != nullptr)
      return absl::StrCat(place, ": ", NoSuchField(*message_type, unknown.empty() ? path : unknown));
  }
  static const RE2* const kType = new RE2(R"re((?s)invalid value (.*) for type TYPE_([A-Z]+)\d*)re");
  if (RE2::FullMatch(what, *kType, &value, &type))
    return absl::StrCat(place, ": ", path, ": expected ", absl::AsciiStrToLower(type), ", got: ", value);
  static const RE2* const kTwice =
      new RE2(R"re((?s).*oneof field '(\w+)' is already set\. Cannot set '(\w+)'.*)re");
  if (RE2::FullMatch(what, *kTwice, &type, &value)) {
    place = PlaceInJson(text, path.empty() ? value : absl::StrCat(path, ".", value));
    return absl::StrCat(place.empty() ? "1:1" : place, ": \"", value, "\" is a second ", type,
                        "; there is one already");
  }
  return absl::StrCat(place, ": ", path, path.empty() || unknown.empty() ? "" : ".", unknown,
                      path.empty() && unknown.empty() ? "" : ": ", what);
}

}  // namespace

void TextMistakes::AddError(int line, int column, const std::string& message) {
  if (lines_.size() >= kMaxMistakes) return;
  std::string what = Explain(message);
  if (IsEnd(message)) {
    const std::string open = UnclosedBracket(text_);
    what = absl::StrCat("the text ends too early: ",
                        open.empty() ? message : absl::StrCat("the ", open, " is not closed"));
  }
  lines_.push_back(absl::StrCat(name_, ":", line + 1, ":", column + 1, ": ", what));
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
  absl::ConsumePrefix(&text, kByteOrderMark);
  TextMistakes mistakes(name, text);
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&mistakes);
  parser.SetRecursionLimit(kMaxNesting);
  return parser.ParseFromString(std::string(text), &out) ? absl::OkStatus() : mistakes.ToStatus();
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
  const std::string message(status.message().data(), status.message().size());
  return absl::InvalidArgumentError(
      absl::StrCat(name, ":", ExplainJson(text, message, *out.GetDescriptor())));
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
