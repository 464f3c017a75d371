#include "services/cli/message_file.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
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
#include "services/cli/suggestion.h"

namespace sluice::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

constexpr size_t kMaxMistakes = 8;
constexpr int kMaxNesting = 32;

constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string ValuesOf(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) names.push_back(type.value(i)->name());
  }
  return absl::StrJoin(names, ", ");
}

// Finds the first thing in a text that its message has no room for, by its tokens: a field or the name of a
// value that is not there, a bracket that is not closed. What it lets pass protobuf may still refuse.
class TextCheck {
 public:
  explicit TextCheck(absl::string_view text)
      : stream_(text.data(), static_cast<int>(text.size())), tokenizer_(&stream_, &ignored_) {
    tokenizer_.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
    tokenizer_.Next();
  }
  // "3:17: what is wrong"; empty: nothing was found.
  std::string Find(const Descriptor& type) {
    Fields(type, "", kMaxNesting);
    return mistake_;
  }

 private:
  using Tokenizer = google::protobuf::io::Tokenizer;

  const Tokenizer::Token& now() { return tokenizer_.current(); }
  bool Is(absl::string_view text) { return now().text == text; }
  bool Take(absl::string_view text) { return Is(text) && tokenizer_.Next(); }
  static std::string Place(const Tokenizer::Token& token) {
    return absl::StrCat(token.line + 1, ":", token.column + 1);
  }
  bool Wrong(const Tokenizer::Token& token, absl::string_view what) {
    mistake_ = absl::StrCat(Place(token), ": ", what);
    return false;
  }
  bool EndsTooEarly() {
    return Wrong(now(), absl::StrCat("the text ends too early", open_.empty() ? "" : ": the ", open_,
                                     open_.empty() ? "" : " is not closed"));
  }

  // Up to `closer`, or the end. All of these: false where it is of no use to go on.
  bool Fields(const Descriptor& type, absl::string_view closer, int levels) {
    const std::string open = open_;
    while (now().type != Tokenizer::TYPE_END) {
      if (!closer.empty() && Is(closer)) return true;
      if (now().type != Tokenizer::TYPE_IDENTIFIER) return false;
      const Tokenizer::Token name = now();
      const auto* field = type.FindFieldByName(name.text);
      if (field == nullptr) return Wrong(name, NoSuchField(type, name.text));
      tokenizer_.Next();
      Take(":");
      if (!(Is("[") ? List(*field, levels) : Value(*field, levels))) return false;
      open_ = open;
      if (!Take(",")) Take(";");
    }
    return closer.empty() || EndsTooEarly();
  }

  bool List(const FieldDescriptor& field, int levels) {
    open_ = absl::StrCat("\"[\" at ", Place(now()));
    const std::string open = open_;
    Take("[");
    while (!Take("]")) {
      if (!Value(field, levels)) return false;
      open_ = open;
      if (!Take(",") && !Is("]")) return now().type == Tokenizer::TYPE_END && EndsTooEarly();
    }
    return true;
  }

  bool Value(const FieldDescriptor& field, int levels) {
    if (now().type == Tokenizer::TYPE_END) return EndsTooEarly();
    if (field.message_type() != nullptr) {
      const absl::string_view closer = Is("{") ? "}" : Is("<") ? ">" : "";
      if (closer.empty() || levels == 0) return false;
      open_ = absl::StrCat("\"", now().text, "\" at ", Place(now()));
      tokenizer_.Next();
      return Fields(*field.message_type(), closer, levels - 1) && Take(closer);
    }
    if (field.enum_type() != nullptr) {
      if (now().type == Tokenizer::TYPE_STRING)
        return Wrong(now(), absl::StrCat("expected the name of a value, without quotes, got: ", now().text));
      if (now().type == Tokenizer::TYPE_IDENTIFIER &&
          field.enum_type()->FindValueByName(now().text) == nullptr)
        return Wrong(now(), NoSuchValue(field, now().text));
    }
    Take("-");
    const bool text = now().type == Tokenizer::TYPE_STRING;
    do {  // strings beside each other are one
      tokenizer_.Next();
    } while (text && now().type == Tokenizer::TYPE_STRING);
    return true;
  }

  google::protobuf::io::ArrayInputStream stream_;
  TextMistakes ignored_{""};
  Tokenizer tokenizer_;
  std::string open_;  // the innermost bracket that is open, with its place
  std::string mistake_;
};

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

// Without the JSON parser's own name and place, which stand in front.
absl::string_view SyntaxMistake(absl::string_view message) {
  const size_t begin = message.find(": ");
  return begin == absl::string_view::npos ? message : message.substr(begin + 2);
}

absl::string_view Unquoted(absl::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

template <typename Integer>
bool FitsInteger(absl::string_view text) {
  Integer exact;
  double number;  // "4.0" and "1e3" are integers too
  return absl::SimpleAtoi(text, &exact) ||
         (absl::SimpleAtod(text, &number) && number == std::floor(number) &&
          number >= static_cast<double>(std::numeric_limits<Integer>::min()) &&
          number <= static_cast<double>(std::numeric_limits<Integer>::max()));
}

// What a field holds if the JSON `value` does not fit it; else empty. Not of messages and enumerations.
absl::string_view ExpectedBy(const FieldDescriptor& field, absl::string_view value) {
  const absl::string_view plain = Unquoted(value);
  const bool quoted = plain.size() != value.size();
  double number;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return quoted ? "" : "string";
    case FieldDescriptor::CPPTYPE_BOOL:
      return value == "true" || value == "false" ? "" : "bool";
    case FieldDescriptor::CPPTYPE_INT32:
      return FitsInteger<int32_t>(plain) ? "" : "int";
    case FieldDescriptor::CPPTYPE_INT64:
      return FitsInteger<int64_t>(plain) ? "" : "int";
    case FieldDescriptor::CPPTYPE_UINT32:
      return FitsInteger<uint32_t>(plain) ? "" : "uint";
    case FieldDescriptor::CPPTYPE_UINT64:
      return FitsInteger<uint64_t>(plain) ? "" : "uint";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return absl::SimpleAtod(plain, &number) ? "" : "double";
    case FieldDescriptor::CPPTYPE_FLOAT:
      return absl::SimpleAtod(plain, &number) ? "" : "float";
    default:
      return "";
  }
}

// The same as TextCheck of a text that is right JSON.
class JsonCheck {
 public:
  explicit JsonCheck(absl::string_view text) : text_(text) {}
  std::string Find(const Descriptor& type) {
    Fields(type, absl::StripAsciiWhitespace(text_), "", 0);
    return mistake_;
  }

 private:
  bool Wrong(size_t at, const std::string& path, absl::string_view what) {
    mistake_ = absl::StrCat(PlaceOf(text_, at), ": ", path, path.empty() ? "" : ": ", what);
    return false;
  }
  size_t At(absl::string_view part) const { return static_cast<size_t>(part.data() - text_.data()); }

  // `at`: what is told as the object's place. False: a mistake was found.
  bool Fields(const Descriptor& type, absl::string_view object, const std::string& path, size_t at) {
    const auto members = object.empty() || object[0] != '{' ? std::nullopt : RawMembers(object);
    if (!members) return Wrong(at, path, absl::StrCat("expected an object, got: ", object));
    std::vector<const google::protobuf::OneofDescriptor*> chosen;
    for (const RawMember& member : *members) {
      const size_t name_at = text_.rfind('"', text_.rfind('"', At(member.value) - 1) - 1);
      const auto* field = type.FindFieldByName(member.name);
      if (field == nullptr) field = type.FindFieldByCamelcaseName(member.name);
      if (field == nullptr) return Wrong(name_at, "", NoSuchField(type, member.name));
      if (member.value == "null") continue;
      if (const auto* one = field->real_containing_oneof()) {
        if (std::find(chosen.begin(), chosen.end(), one) != chosen.end())
          return Wrong(
              name_at, "",
              absl::StrCat("\"", field->name(), "\" is a second ", one->name(), "; there is one already"));
        chosen.push_back(one);
      }
      if (!Member(*field, member.value, absl::StrCat(path, path.empty() ? "" : ".", field->name()), name_at))
        return false;
    }
    return true;
  }

  bool Member(const FieldDescriptor& field, absl::string_view value, const std::string& path, size_t at) {
    if (field.is_map()) {
      const auto entries = value.empty() || value[0] != '{' ? std::nullopt : RawMembers(value);
      if (!entries) return Wrong(at, path, absl::StrCat("expected an object, got: ", value));
      return std::all_of(entries->begin(), entries->end(), [&](const RawMember& entry) {
        return Value(*field.message_type()->FindFieldByNumber(2), entry.value, path, At(entry.value));
      });
    }
    // protobuf takes a value alone for a list of one.
    if (!field.is_repeated() || value.empty() || value[0] != '[') return Value(field, value, path, at);
    size_t index = 0;
    for (absl::string_view element : ElementsOf(value)) {
      if (!element.empty() && !Value(field, element, absl::StrCat(path, "[", index++, "]"), At(element)))
        return false;
    }
    return true;
  }

  bool Value(const FieldDescriptor& field, absl::string_view value, const std::string& path, size_t at) {
    if (field.message_type() != nullptr) return Fields(*field.message_type(), value, path, at);
    if (const auto* type = field.enum_type()) {
      int32_t number;
      if (absl::SimpleAtoi(value, &number) || type->FindValueByName(std::string(Unquoted(value))) != nullptr)
        return true;
      return Wrong(at, path, absl::StrCat("has no value ", value, "; it may be ", ValuesOf(*type)));
    }
    const absl::string_view expected = ExpectedBy(field, value);
    return expected.empty() || Wrong(at, path, absl::StrCat("expected ", expected, ", got: ", value));
  }

  const absl::string_view text_;
  std::string mistake_;
};

}  // namespace

void TextMistakes::AddError(int line, int column, const std::string& message) {
  if (lines_.size() >= kMaxMistakes) return;
  lines_.push_back(absl::StrCat(name_, ":", line + 1, ":", column + 1, ": ", message));
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

std::string NoSuchValue(const FieldDescriptor& field, const std::string& value) {
  return absl::StrCat(field.containing_type()->name(), " has no ", field.name(), " ", value, "; it may be ",
                      ValuesOf(*field.enum_type()));
}

absl::Status ParseMessageText(absl::string_view text, const std::string& name, Message& out) {
  absl::ConsumePrefix(&text, kByteOrderMark);
  TextMistakes mistakes(name);
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&mistakes);
  parser.SetRecursionLimit(kMaxNesting);
  if (parser.ParseFromString(std::string(text), &out)) return absl::OkStatus();
  const std::string found = TextCheck(text).Find(*out.GetDescriptor());
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
  const std::string found = JsonCheck(text).Find(*out.GetDescriptor());
  return absl::InvalidArgumentError(absl::StrCat(
      name, ":",
      found.empty()
          ? absl::StrCat("1:1: ", absl::string_view(status.message().data(), status.message().size()))
          : found));
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
