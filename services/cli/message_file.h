// A message as a user writes it: protobuf text format, or JSON. Every mistake is told with file, line and
// column.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/message.h"

namespace sluice::cli {

// Collects what protobuf's text parser finds wrong: "job.textproto:3:5: ...". At most 8 mistakes are kept.
class TextMistakes final : public google::protobuf::io::ErrorCollector {
 public:
  explicit TextMistakes(std::string name) : name_(std::move(name)) {}
  void AddError(int line, int column, const std::string& message) override;
  void AddWarning(int line, int column, const std::string& message) override {}
  absl::Status ToStatus() const;

 private:
  std::string name_;
  std::vector<std::string> lines_;
};

// `name` is for the errors. At most 32 levels of nesting. A byte order mark in front is skipped.
absl::Status ParseMessageText(absl::string_view text, const std::string& name,
                              google::protobuf::Message& out);
absl::Status ParseMessageJson(absl::string_view text, const std::string& name,
                              google::protobuf::Message& out);

// "SamplingSpec has no field "nam"; did you mean "name"?", or the fields that there are.
std::string NoSuchField(const google::protobuf::Descriptor& message, const std::string& field);
// "MathScorer has no mode PARE; it may be COMPLETION, PAIR". `field` is of an enumeration.
std::string NoSuchValue(const google::protobuf::FieldDescriptor& field, const std::string& value);

// "3:17" of a byte of a text.
std::string PlaceOf(absl::string_view text, size_t offset);
// The place of the innermost member of `field` ("reward.component[1].regex") that the text of a message has,
// in text format or JSON; empty when it has none of them.
std::string PlaceOfField(const std::string& text, bool json, const std::string& field,
                         const google::protobuf::Message& message);

}  // namespace sluice::cli
