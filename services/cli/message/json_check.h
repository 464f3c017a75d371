// What is wrong with a message as JSON, and where. Pure.
#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"

namespace sluice::cli {

// The first thing in `text`, which is right JSON, that a message of `type` has no room for: "3:17: what is
// wrong"; empty: nothing was found, which protobuf may still refuse.
std::string FindJsonMistake(absl::string_view text, const google::protobuf::Descriptor& type);

// The place of the innermost member of `path` ("component[1].code.language") that `text` has.
std::string PlaceInJson(absl::string_view text, absl::string_view path);

}  // namespace sluice::cli
