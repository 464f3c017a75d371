// A message as a user writes it: protobuf text format, or JSON. Every mistake is told with file, line and
// column.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace sluice::cli {

// `name` is for the errors. At most 32 levels of nesting. A byte order mark in front is skipped.
absl::Status ParseMessageText(absl::string_view text, const std::string& name,
                              google::protobuf::Message& out);
absl::Status ParseMessageJson(absl::string_view text, const std::string& name,
                              google::protobuf::Message& out);

// The place of the innermost member of `field` ("reward.component[1].regex") that the text of a message has,
// in text format or JSON; empty when it has none of them.
std::string PlaceOfField(const std::string& text, bool json, const std::string& field,
                         const google::protobuf::Message& message);

}  // namespace sluice::cli
