#include "services/wire/known_fields.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/unknown_field_set.h"

namespace sluice {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Below(const std::string& path, const FieldDescriptor& field) {
  return path.empty() ? field.name() : absl::StrCat(path, ".", field.name());
}

// The path of the message with what is unknown in it, and that.
std::string Unknown(const std::string& path, const std::string& what) {
  return absl::StrCat(path.empty() ? "the request" : path, " has ", what);
}

// Empty: all is known.
std::string FindUnknown(const Message& message, const std::string& path) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const google::protobuf::UnknownFieldSet& unknown = reflection.GetUnknownFields(message);
  if (!unknown.empty()) return Unknown(path, absl::StrCat("field ", unknown.field(0).number()));
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      std::string found;
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        found = FindUnknown(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                                 : reflection.GetMessage(message, field),
                            Below(path, *field));
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM) {
        const int value = field->is_repeated() ? reflection.GetRepeatedEnumValue(message, field, i)
                                               : reflection.GetEnumValue(message, field);
        if (field->enum_type()->FindValueByNumber(value) == nullptr)
          found = Unknown(Below(path, *field), absl::StrCat("the value ", value));
      }
      if (!found.empty()) return found;
    }
  }
  return "";
}

}  // namespace

absl::Status CheckKnownFields(const Message& message, absl::string_view sender, absl::string_view receiver) {
  const std::string found = FindUnknown(message, "");
  if (found.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(found, ", which this version does not know: it comes from a newer ", sender,
                   ". Upgrade the ", receiver, ", or leave that field out"));
}

}  // namespace sluice
