// The "decoder" of tokenizer.json: text of tokens that come one by one. What a later token may still change
// is held back: half a character, a run of byte tokens, a space that may be stripped.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace sluice {

// One step of decoding, with its state: takes tokens, gives tokens. Not thread-safe.
class DecoderStep {
 public:
  virtual ~DecoderStep() = default;
  // Appends to `out` what is certain now.
  virtual void Push(std::string token, std::vector<std::string>& out) = 0;
  // Appends the rest: no more tokens come.
  virtual void Finish(std::vector<std::string>& out) {}
  virtual std::unique_ptr<DecoderStep> Clone() const = 0;
};

// The steps in their order. Copies share nothing.
class DecoderSteps {
 public:
  DecoderSteps() = default;
  DecoderSteps(const DecoderSteps& other);
  DecoderSteps(DecoderSteps&&) = default;
  DecoderSteps& operator=(DecoderSteps&&) = default;

  void Add(std::unique_ptr<DecoderStep> step) { steps_.push_back(std::move(step)); }
  std::string Push(std::string token);  // the text that is certain now
  std::string Pending() const;          // what follows if no more tokens come

 private:
  static void Through(DecoderStep& step, std::vector<std::string>& tokens, bool finish);
  std::vector<std::unique_ptr<DecoderStep>> steps_;
};

struct ParsedDecoder {
  DecoderSteps steps;       // at the beginning of a text
  DecoderSteps within;      // the same behind its beginning
  bool byte_level = false;  // tokens are in the byte-level alphabet
};

// ByteLevel, ByteFallback, Fuse, Strip, Replace, Metaspace and Sequence; refuses others by name, and steps
// that would look at the joined text as at one token. `where` names the field in errors.
absl::StatusOr<ParsedDecoder> ParseDecoder(const nlohmann::json* json, const std::string& where);

}  // namespace sluice
