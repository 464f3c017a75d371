// A piece of untrusted text in a message for people.
#pragma once

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace sluice {

// In double quotes, cut to 80 bytes, everything but printable ASCII escaped.
inline std::string Quotation(absl::string_view text) {
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, 80)), text.size() > 80 ? "...\"" : "\"");
}

}  // namespace sluice
