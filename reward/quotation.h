// A piece of untrusted text in a message for people.
#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/printable.h"

namespace sluice {

// In double quotes, of at most `bytes` of the text, Printable.
inline std::string Quotation(absl::string_view text, size_t bytes = 80) {
  return absl::StrCat("\"", Printable(CutToCharacters(text, bytes)), text.size() > bytes ? "...\"" : "\"");
}

}  // namespace sluice
