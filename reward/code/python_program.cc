#include "reward/code/python_program.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sluice {
namespace {

bool IsNameEnd(absl::string_view rest) {
  return rest.empty() || !(absl::ascii_isalnum(static_cast<unsigned char>(rest[0])) || rest[0] == '_');
}

// Whether a line at the margin defines `name`: as a function, a class or by assignment.
bool Defines(absl::string_view source, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(source, '\n')) {
    for (absl::string_view start : {"def ", "async def ", "class ", ""}) {
      absl::string_view rest = line;
      if (!absl::ConsumePrefix(&rest, start)) continue;
      rest = absl::StripLeadingAsciiWhitespace(rest);
      if (!absl::ConsumePrefix(&rest, name) || !IsNameEnd(rest)) continue;
      if (!start.empty() && line[0] != ' ') return true;
      rest = absl::StripLeadingAsciiWhitespace(rest);
      if (start.empty() && line[0] != ' ' && absl::StartsWith(rest, "=") && !absl::StartsWith(rest, "=="))
        return true;
    }
  }
  return false;
}

std::string Indented(absl::string_view body) {
  std::string out;
  for (absl::string_view line : absl::StrSplit(body, '\n')) {
    absl::StrAppend(&out, absl::StripAsciiWhitespace(line).empty() ? "" : "    ", line, "\n");
  }
  return out;
}

// Up to the first line at the margin.
std::string IndentedPart(absl::string_view body) {
  std::string out;
  for (absl::string_view line : absl::StrSplit(body, '\n')) {
    bool blank = absl::StripAsciiWhitespace(line).empty();
    if (!blank && line[0] != ' ' && line[0] != '\t' && !out.empty()) break;
    absl::StrAppend(&out, line, "\n");
  }
  return out;
}

// The completion up to the first line at the margin after the function `name` that it defines.
std::string FunctionPart(absl::string_view source, absl::string_view name) {
  std::string out;
  bool inside = false;
  for (absl::string_view line : absl::StrSplit(source, '\n')) {
    bool margin =
        !line.empty() && !absl::ascii_isspace(static_cast<unsigned char>(line[0])) && line[0] != ')';
    if (inside && margin) break;
    inside = inside || (margin && Defines(line, name));
    absl::StrAppend(&out, line, "\n");
  }
  return out;
}

}  // namespace

std::vector<std::string> ContinuedSources(absl::string_view prompt, absl::string_view completion,
                                          absl::string_view entry_point) {
  std::string whole(completion);
  if (absl::StripAsciiWhitespace(prompt).empty()) return {whole};
  std::string head(prompt);
  if (Defines(completion, entry_point)) {
    // The prompt's imports and other functions stay; its head gets an empty body.
    std::string before = absl::StrCat(head, "\n    pass\n\n");
    std::string part = FunctionPart(completion, entry_point);
    return {before + whole, whole, before + part, part};
  }
  absl::string_view gap = absl::EndsWith(head, "\n") ? "" : "\n";
  return {head + whole, absl::StrCat(head, gap, whole), absl::StrCat(head, gap, Indented(completion)),
          head + IndentedPart(completion), absl::StrCat(head, gap, IndentedPart(completion))};
}

}  // namespace sluice
