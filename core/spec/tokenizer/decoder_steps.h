// The steps of text_decoder.h. Those on tokens see each token by itself; those on text see the joined tokens.
#pragma once

#include <memory>
#include <string>

#include "core/spec/text/text_pattern.h"
#include "core/spec/tokenizer/text_decoder.h"

namespace sluice {

// Steps on tokens.
std::unique_ptr<DecoderStep> ReplaceInTokens(Finder find, std::string content);
// Up to `start` and `stop` times the character `content` at the ends of each token.
std::unique_ptr<DecoderStep> StripTokens(std::string content, size_t start, size_t stop);
// `replacement` becomes a space, or nothing in the first token when `drop_first`.
std::unique_ptr<DecoderStep> UnescapeSpaces(std::string replacement, bool drop_first);
// Runs of tokens <0xNN> become the characters of their bytes; one U+FFFD each when a run is no UTF-8.
std::unique_ptr<DecoderStep> JoinByteTokens();
// Byte-level tokens become text; broken parts become U+FFFD.
std::unique_ptr<DecoderStep> JoinByteLevel();

// Steps on text.
std::unique_ptr<DecoderStep> ReplaceInText(std::string literal, std::string content);
std::unique_ptr<DecoderStep> StripText(std::string content, size_t start, size_t stop);

}  // namespace sluice
