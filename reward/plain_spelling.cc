#include "reward/plain_spelling.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "reward/number_syntax.h"

namespace sluice {
namespace {

using absl::string_view;
using number_syntax::At;
using number_syntax::IsDigit;

struct Rewrite {
  string_view from, to;
};
constexpr std::array<Rewrite, 36> kRewrites = {{{"\\dfrac", "\\frac"},
                                                {"\\tfrac", "\\frac"},
                                                {"\\cfrac", "\\frac"},
                                                {"\\left", ""},
                                                {"\\right", ""},
                                                {"\\times", "*"},
                                                {"\\cdot", "*"},
                                                {"\\textbf{", " {"},
                                                {"\\textrm{", " {"},
                                                {"\\text{", " {"},
                                                {"\\mathrm{", " {"},
                                                {"\\mathbf{", " {"},
                                                {"\\mbox{", " {"},
                                                {"^{\\circ}", "\xC2\xB0"},
                                                {"^\\circ", "\xC2\xB0"},
                                                {"\\circ", "\xC2\xB0"},
                                                {"\\%", "%"},
                                                {"\\$", "$"},
                                                {"\\(", " "},
                                                {"\\)", " "},
                                                {"\\[", " "},
                                                {"\\]", " "},
                                                {"\\;", " "},
                                                {"\\:", " "},
                                                {"\\ ", " "},
                                                {"~", " "},
                                                {"{,}", ","},
                                                {"\\!", ""},
                                                {"\xE2\x88\x92", "-"},
                                                {"\xC3\x97", "*"},
                                                {"\xC2\xB7", "*"},
                                                {"\xC2\xA0", " "},
                                                {"\xE2\x80\xAF", " "},
                                                {"\xE2\x80\x89", " "},
                                                {"\\quad", " "},
                                                {"\\qquad", " "}}};

bool IsRewriteLead(char c) {
  return c == '\\' || c == '^' || c == '~' || c == '{' || c == '\xE2' || c == '\xC3' || c == '\xC2';
}

}  // namespace

std::string PlainSpelling(string_view text) {
  std::string out;
  out.reserve(text.size());
  std::string open;  // one character per open brace: 't' of a text group, whose braces are dropped, or 'o'
  for (size_t i = 0; i < text.size();) {
    string_view rest = text.substr(i);
    // A thin space between digits groups thousands.
    if (absl::StartsWith(rest, "\\,")) {
      bool digits = !out.empty() && IsDigit(out.back()) && IsDigit(At(text, i + 2));
      if (!digits) out.push_back(' ');
      i += 2;
      continue;
    }
    bool rewritten = false;
    if (IsRewriteLead(rest[0])) {
      for (const Rewrite& r : kRewrites) {
        if (!absl::StartsWith(rest, r.from)) continue;
        bool group = absl::EndsWith(r.to, "{");
        absl::StrAppend(&out, group ? string_view(" ") : r.to);
        if (group) open.push_back('t');
        i += r.from.size();
        rewritten = true;
        break;
      }
    }
    if (rewritten) continue;
    if (rest[0] == '{') open.push_back('o');
    if (rest[0] == '}' && !open.empty()) {
      bool dropped = open.back() == 't';
      open.pop_back();
      if (dropped) {
        ++i;
        continue;
      }
    }
    out.push_back(rest[0]);
    ++i;
  }
  return out;
}

}  // namespace sluice
