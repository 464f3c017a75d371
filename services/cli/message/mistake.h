// How a mistake in a message is told. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace sluice::cli {

// "SamplingSpec has no field "nam"; did you mean "name"?", or the fields that there are.
std::string NoSuchField(const google::protobuf::Descriptor& message, const std::string& field);
// "MathScorer has no mode PARE; it may be COMPLETION, PAIR". `field` is of an enumeration.
std::string NoSuchValue(const google::protobuf::FieldDescriptor& field, const std::string& value);
// "COMPLETION, PAIR": all but the one that stands for none.
std::string ValuesOf(const google::protobuf::EnumDescriptor& type);

// "3:17" of a byte of a text.
std::string PlaceOf(absl::string_view text, size_t offset);

}  // namespace sluice::cli
