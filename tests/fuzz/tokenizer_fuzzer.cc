// The input is a tokenizer.json; with a zero byte, what follows it is a text.
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/spec/tokenizer/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  const std::string text(zero == absl::string_view::npos ? "hello <s> he's 12345 \n 你好"
                                                         : input.substr(zero + 1));
  const auto tokenizer = sluice::ParseTokenizer(std::string(input.substr(0, zero)));
  if (!tokenizer.ok()) return 0;
  const auto ids = (*tokenizer)->Encode(text, true);
  if (ids.ok()) (void)(*tokenizer)->Decode(*ids, true);
  return 0;
}
