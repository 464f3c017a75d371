// What is wrong with a message in protobuf's text format, and where.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"

namespace sluice::cli {

// Levels of messages in a message, at most.
inline constexpr int kMaxNesting = 32;

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

// The first thing in `text` that a message of `type` has no room for: a field or the name of a value that is
// not there, a bracket that is not closed. "3:17: what is wrong"; empty: nothing was found, which protobuf
// may still refuse.
std::string FindTextMistake(absl::string_view text, const google::protobuf::Descriptor& type);

}  // namespace sluice::cli
