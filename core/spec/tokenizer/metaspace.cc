#include "core/spec/tokenizer/metaspace.h"

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/text/unicode.h"

namespace sluice {

absl::StatusOr<Metaspace> ReadMetaspace(JsonFields& in) {
  Metaspace out;
  out.replacement = in.StringOr("replacement", "\u2581");
  size_t at = 0;
  if (!out.replacement.empty()) NextCodePoint(out.replacement, at);
  if (at == 0 || at != out.replacement.size()) in.Fail("replacement", "is not one character");
  // Older files say add_prefix_space instead.
  const bool older = in.BoolOr("add_prefix_space", true);
  const std::string scheme = in.StringOr("prepend_scheme", older ? "always" : "never");
  out.split = in.BoolOr("split", true);
  SLUICE_RETURN_IF_ERROR(in.status());
  if (scheme == "first") {
    out.prepend = Metaspace::Prepend::kFirst;
  } else if (scheme == "never") {
    out.prepend = Metaspace::Prepend::kNever;
  } else if (scheme != "always") {
    in.Fail("prepend_scheme",
            absl::StrCat("is \"", scheme.substr(0, 64), "\"; supported are always, first and never"));
  }
  SLUICE_RETURN_IF_ERROR(in.status());
  return out;
}

}  // namespace sluice
