// The input is a chat template.
#include <cstdint>
#include <string>

#include "core/spec/template/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string source(reinterpret_cast<const char*>(data), size);
  const auto chat = sluice::ChatTemplate::Parse(source, "<s>", "</s>");
  if (chat.ok()) (void)(*chat)->Render({{"user", "a"}, {"assistant", "b</t>c"}}, true);
  return 0;
}
