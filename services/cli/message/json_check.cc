#include "services/cli/message/json_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/spec/text/json_rows.h"
#include "services/cli/message/mistake.h"

namespace sluice::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

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

std::string FindJsonMistake(absl::string_view text, const Descriptor& type) {
  return JsonCheck(text).Find(type);
}

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

}  // namespace sluice::cli
