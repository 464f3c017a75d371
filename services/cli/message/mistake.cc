#include "services/cli/message/mistake.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/cli/message/suggestion.h"

namespace sluice::cli {

std::string NoSuchField(const google::protobuf::Descriptor& message, const std::string& field) {
  std::vector<std::string> names;
  for (int i = 0; i < message.field_count(); ++i) names.push_back(message.field(i)->name());
  const std::string nearest = Nearest(field, names);
  return absl::StrCat(message.name(), " has no field \"", field, "\"; ",
                      nearest.empty() ? absl::StrCat("it has ", absl::StrJoin(names, ", "))
                                      : absl::StrCat("did you mean \"", nearest, "\"?"));
}

std::string NoSuchValue(const google::protobuf::FieldDescriptor& field, const std::string& value) {
  return absl::StrCat(field.containing_type()->name(), " has no ", field.name(), " ", value, "; it may be ",
                      ValuesOf(*field.enum_type()));
}

std::string ValuesOf(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) names.push_back(type.value(i)->name());
  }
  return absl::StrJoin(names, ", ");
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

}  // namespace sluice::cli
