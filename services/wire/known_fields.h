// What a peer of another version sends and this one would silently drop.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace google::protobuf {
class Message;
}

namespace sluice {

// OK when every field of the message, at any depth, and every value of its enumerations is one that this
// program knows. FAILED_PRECONDITION names the first that is not, by the path of its message and its number,
// and says which side to upgrade: the receiver. For calls that say what is wanted (a job's spec): dropping a
// part of it would do something else than was asked. Thread-safe; cost grows with the size of the message.
absl::Status CheckKnownFields(const google::protobuf::Message& message, absl::string_view sender = "client",
                              absl::string_view receiver = "coordinator");

}  // namespace sluice
