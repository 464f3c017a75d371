#include "reward/math/extract/turn.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "reward/math/text/number_lexer.h"

namespace sluice::math {
namespace {

using absl::string_view;

// What chat models end their turn with. Behind it the next turn stands, or what is no answer any more.
constexpr string_view kEndsOfTurn[] = {"<|im_end|>",
                                       "<|eot_id|>",
                                       "<|endoftext|>",
                                       "<|end_of_text|>",
                                       "<|eom_id|>",
                                       "<|end|>",
                                       "<|eot|>",
                                       "<|return|>",
                                       "</s>",
                                       "<eos>",
                                       "<end_of_turn>",
                                       "<|im_start|>",
                                       "<|start_header_id|>",
                                       "<start_of_turn>",
                                       "<\xEF\xBD\x9C"
                                       "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>"};

// The bytes of an end of a turn at `i`, else 0: "<|end|><|start|>" goes on.
size_t EndOfTurnAt(string_view text, size_t i) {
  for (string_view mark : kEndsOfTurn) {
    if (!absl::StartsWith(text.substr(i), mark)) continue;
    bool goes_on = mark == "<|end|>" && absl::StartsWith(text.substr(i + mark.size()), "<|start|>");
    return goes_on ? 0 : mark.size();
  }
  return 0;
}

}  // namespace

string_view FirstTurn(string_view text) {
  size_t begin = 0;
  bool struck = false;
  for (size_t i = text.find('<'); i != string_view::npos; i = text.find('<', i + 1)) {
    struck = struck || (i > 0 && absl::StartsWith(text.substr(i), "<s>"));
    size_t bytes = EndOfTurnAt(text, i);
    if (bytes == 0 || (struck && text[i + 1] == '/')) continue;
    if (!absl::StripAsciiWhitespace(text.substr(begin, i - begin)).empty())
      return text.substr(begin, i - begin);
    begin = i + bytes;
    i = begin - 1;
  }
  return text.substr(begin);
}

Said BehindReasoning(string_view completion) {
  static constexpr string_view kTags[] = {"think>", "thinking>", "thought>", "reasoning>", "scratchpad>"};
  Said said{completion};
  if (const size_t channel = completion.rfind("<|channel|>"); channel != string_view::npos) {
    const size_t message = completion.find("<|message|>", channel);
    said.closed = absl::StartsWith(completion.substr(channel + 11), "final") && message != string_view::npos;
    if (said.closed) said.text = completion.substr(message + 11);
    return said;
  }
  size_t opened = string_view::npos;
  for (size_t i = completion.find('<'); i != string_view::npos; i = completion.find('<', i + 1)) {
    bool closes = At(completion, i + 1) == '/';
    size_t name = i + (closes ? 2 : 1);
    if (absl::StartsWith(completion.substr(name), "seed:")) name += 5;
    for (string_view tag : kTags) {
      if (!absl::StartsWith(completion.substr(name), tag)) continue;
      if (closes) said.text = completion.substr(name + tag.size());
      opened = closes ? string_view::npos : std::min(opened, i);
      break;
    }
  }
  if (opened == string_view::npos) return said;
  size_t begin = static_cast<size_t>(said.text.data() - completion.data());
  said.text = said.text.substr(0, opened - begin);
  said.closed = !absl::StripAsciiWhitespace(said.text).empty();
  return said;
}

namespace {

// Who asks, or what is asked, at the head of a line. `alone`: a heading without a colon counts too.
struct QuestionHead {
  string_view word;
  bool alone;
};
constexpr QuestionHead kQuestionHeads[] = {
    {"question", true},     {"next question", true}, {"new question", true}, {"problem", true},
    {"next problem", true}, {"exercise", true},      {"example", true},      {"instruction", true},
    {"task", true},         {"human", false},        {"user", false},        {"q", false},
    {"input", false}};

bool PosesQuestion(string_view line) {
  const size_t begin = std::min(line.find_first_not_of(" \t#*_>"), line.size());
  const bool heading = line.substr(0, begin).find_first_of("#*") != string_view::npos;
  line.remove_prefix(begin);
  for (const QuestionHead& head : kQuestionHeads) {
    if (!absl::StartsWithIgnoreCase(line, head.word)) continue;
    string_view rest = line.substr(head.word.size());
    while (!rest.empty() && (rest[0] == ' ' || rest[0] == '#' || IsDigit(rest[0]))) rest.remove_prefix(1);
    const bool numbered = rest.data() > line.data() + head.word.size();
    while (!rest.empty() && (rest[0] == '*' || rest[0] == '_')) rest.remove_prefix(1);
    if (absl::StartsWith(rest, ":")) return true;
    if (head.alone && numbered && absl::StartsWith(rest, ".")) return true;
    if (head.alone && heading && absl::StripAsciiWhitespace(rest).empty()) return true;
  }
  return false;
}

}  // namespace

size_t NextQuestion(string_view text, size_t from) {
  for (size_t at = text.find('\n', from); at != string_view::npos; at = text.find('\n', at + 1)) {
    const string_view line = text.substr(at + 1, 64);
    if (PosesQuestion(line.substr(0, line.find('\n')))) return at + 1;
  }
  return string_view::npos;
}

namespace {

// The bytes of an HTML tag at `i`, which only says how the text looks; 0 for what is none.
size_t LookTagAt(string_view text, size_t i) {
  static constexpr string_view kNames[] = {"b",   "br",   "center", "code", "div",  "em",   "h1",
                                           "h2",  "h3",   "html",   "i",    "li",   "ol",   "p",
                                           "pre", "span", "strong", "u",    "body", "mark", "ul"};
  size_t begin = i + 1 + (At(text, i + 1) == '/'), end = begin;
  while (IsLetter(At(text, end)) || IsDigit(At(text, end))) ++end;
  const string_view name = text.substr(begin, end - begin);
  const bool look = std::any_of(std::begin(kNames), std::end(kNames),
                                [&](string_view known) { return absl::EqualsIgnoreCase(known, name); });
  if (!look) return 0;
  const size_t close = text.substr(0, end + 80).find('>', end);
  const bool closes = close != string_view::npos && (close == end || text[end] == ' ' || text[end] == '/');
  return closes ? close + 1 - i : 0;
}

}  // namespace

string_view WithoutMarkup(string_view text, std::string* storage) {
  bool copied = false;
  auto blank = [&](size_t at, size_t bytes) {
    if (!copied) storage->assign(text.data(), text.size());
    copied = true;
    storage->replace(at, bytes, bytes, ' ');
  };
  for (size_t open = text.find("~~"); open != string_view::npos;) {
    const size_t close = text.find("~~", open + 2);
    if (close == string_view::npos) break;
    const bool line = text.substr(open, close - open).find('\n') == string_view::npos;
    if (line) blank(open, close + 2 - open);
    open = line ? text.find("~~", close + 2) : close;
  }
  // Formulas have "a<b" too: of tags both have to be there.
  const bool tags = absl::StrContains(text, "</") || absl::StrContains(text, "<br");
  for (size_t i = tags ? text.find('<') : string_view::npos; i != string_view::npos;
       i = text.find('<', i + 1)) {
    if (const size_t bytes = LookTagAt(text, i)) blank(i, bytes);
  }
  return copied ? string_view(*storage) : text;
}

}  // namespace sluice::math
