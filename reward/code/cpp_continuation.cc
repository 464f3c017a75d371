#include "reward/code/cpp_continuation.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "reward/code/cpp_scanner.h"

namespace sluice {
namespace {

constexpr absl::string_view kEntry = "sluice_entry_point";
// A main of the candidate's own is left aside.
constexpr absl::string_view kRenamedMain = "#define main sluice_candidate_main\n";

struct Head {
  std::string before;                    // the prompt up to the function
  std::string result, name, parameters;  // as written
  std::vector<std::string> names;        // of the parameters
};

// The name that a parameter declares: the last one before a default value or the bounds of an array.
std::string ParameterName(absl::string_view parameter) {
  parameter = parameter.substr(0, parameter.find('='));
  parameter = parameter.substr(0, parameter.find('['));
  parameter = absl::StripAsciiWhitespace(parameter);
  size_t begin = parameter.size();
  while (begin > 0 && IsNameCharacter(parameter[begin - 1])) --begin;
  return begin == 0 ? "" : std::string(parameter.substr(begin));
}

std::vector<std::string> ParameterNames(absl::string_view parameters) {
  std::vector<std::string> names;
  if (absl::StripAsciiWhitespace(parameters).empty()) return names;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= parameters.size(); ++i) {
    char c = i < parameters.size() ? parameters[i] : ',';
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == ']' || c == '}') --depth;
    if (c == ',' && (depth == 0 || i == parameters.size())) {
      names.push_back(ParameterName(parameters.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  return names;
}

// The last place where `name` stands before "(" as a word of its own, in code.
size_t FindFunction(absl::string_view text, absl::string_view name) {
  size_t found = absl::string_view::npos;
  CodeScanner scanner(text);
  for (size_t i = scanner.Next(); i != absl::string_view::npos; i = scanner.Next()) {
    if (!absl::StartsWith(text.substr(i), name) || (i > 0 && IsNameCharacter(text[i - 1]))) continue;
    absl::string_view after = absl::StripLeadingAsciiWhitespace(text.substr(i + name.size()));
    if (absl::StartsWith(after, "(")) found = i;
  }
  return found;
}

// Where the parenthesis opens that `text` ends with the closing one of; npos: it does not.
size_t OpeningOfLast(absl::string_view text) {
  int depth = 0;
  for (size_t i = text.size(); i-- > 0;) {
    depth += text[i] == ')' ? 1 : text[i] == '(' ? -1 : 0;
    if (depth == 0) return text[i] == '(' ? i : absl::string_view::npos;
  }
  return absl::string_view::npos;
}

bool IsComplete(const Head& head) {
  for (const std::string& name : head.names) {
    if (name.empty()) return false;
  }
  return !head.name.empty() && !absl::StripAsciiWhitespace(head.result).empty();
}

absl::StatusOr<Head> ReadHead(absl::string_view prompt) {
  absl::string_view text = absl::StripTrailingAsciiWhitespace(prompt);
  bool opens = absl::ConsumeSuffix(&text, "{");
  text = absl::StripTrailingAsciiWhitespace(text);
  size_t open = opens ? OpeningOfLast(text) : absl::string_view::npos;
  Head head;
  if (open != absl::string_view::npos) {
    absl::string_view before = absl::StripTrailingAsciiWhitespace(text.substr(0, open));
    size_t begin = before.size();
    while (begin > 0 && IsNameCharacter(before[begin - 1])) --begin;
    size_t line = before.rfind('\n', begin);
    line = line == absl::string_view::npos ? 0 : line + 1;
    head = {std::string(text.substr(0, line)), std::string(text.substr(line, begin - line)),
            std::string(before.substr(begin)), std::string(text.substr(open + 1, text.size() - open - 2))};
    head.names = ParameterNames(head.parameters);
  }
  if (IsComplete(head)) return head;
  return absl::InvalidArgumentError(
      "field \"prompt\": C++ that ends in the head of a function and \"{\" is expected");
}

// The body up to the brace that closes the function, which is added where it is missing.
std::string ClosedBody(absl::string_view body) {
  int depth = 1;
  CodeScanner scanner(body);
  for (size_t i = scanner.Next(); i != absl::string_view::npos; i = scanner.Next()) {
    depth += body[i] == '{' ? 1 : body[i] == '}' ? -1 : 0;
    if (depth == 0) return std::string(body.substr(0, i + 1));
  }
  std::string closed(body);
  for (; depth > 0; --depth) closed += "\n}";
  return closed;
}

// Whether a line at the margin is the head of the function.
bool DefinesFunction(absl::string_view completion, absl::string_view name) {
  for (absl::string_view line : absl::StrSplit(completion, '\n')) {
    size_t at = FindFunction(line, name);
    if (at == absl::string_view::npos || at == 0 || absl::ascii_isspace(static_cast<unsigned char>(line[0])))
      continue;
    absl::string_view before = line.substr(0, at);
    bool statement = before.find_first_of("=(;") != absl::string_view::npos;
    for (absl::string_view word : {"return", "else", "throw", "case", "}"}) {
      statement = statement || absl::StartsWith(before, word);
    }
    if (!statement && !absl::StrContains(line.substr(at), ';')) return true;
    if (!statement && absl::StrContains(line.substr(at), '{')) return true;
  }
  return false;
}

std::string Includes(absl::string_view text) {
  std::string out;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(line), "#include"))
      absl::StrAppend(&out, line, "\n");
  }
  return out;
}

std::string Wrapper(const Head& head) {
  return absl::StrCat("\n", head.result, kEntry, "(", head.parameters, ") {\n  return ", head.name, "(",
                      absl::StrJoin(head.names, ", "), ");\n}\n");
}

std::string ByteList(absl::string_view bytes) {
  return absl::StrJoin(bytes, ",", [](std::string* out, char c) {
    absl::StrAppend(out, static_cast<int>(static_cast<unsigned char>(c)));
  });
}

// What comes after the tests in their unit. Messages are as in message_channel.h: a bytes value of 32 bytes.
constexpr absl::string_view kProof = R"(
#include <unistd.h>
#undef main
extern "C" int __real_main(int, char**);
static bool sluice_all(bool out, unsigned char* bytes, unsigned size) {
  while (size > 0) {
    long n = out ? ::write(3, bytes, size) : ::read(3, bytes, size);
    if (n <= 0) return false;
    bytes += n;
    size -= static_cast<unsigned>(n);
  }
  return true;
}
extern "C" int __wrap_main(int count, char** words) {
  int status = __real_main(count, words);
  static unsigned char message[41];
  if (status == 0 && sluice_all(false, message, sizeof message)) {
    for (int i = 0; i < 32; ++i) message[9 + i] ^= sluice_tag[i];
    sluice_all(true, message, sizeof message);
  }
  return status;
}
)";

std::string TestsUnit(const Head& head, const HumanEvalTest& row, absl::string_view tag) {
  absl::string_view tests = absl::StripLeadingAsciiWhitespace(row.test);
  absl::ConsumePrefix(&tests, "}");
  return absl::StrCat(head.before, "\n", head.result, kEntry, "(", head.parameters, ");\n#define ", head.name,
                      " ", kEntry, "\nextern \"C\" void sluice_test_failed();\n#undef assert\n",
                      "#define assert(...) ((__VA_ARGS__) ? void(0) : sluice_test_failed())\n", tests,
                      "\nstatic const unsigned char sluice_tag[32] = {", ByteList(tag), "};\n", kProof,
                      // A message of no bytes.
                      "extern \"C\" void sluice_test_failed() {\n"
                      "  unsigned char none[9] = {5, 0, 0, 0, 's', 0, 0, 0, 0};\n"
                      "  sluice_all(true, none, sizeof none);\n  ::_exit(1);\n}\n");
}

}  // namespace

absl::StatusOr<CppContinuation> ContinueCpp(const HumanEvalTest& row, absl::string_view completion,
                                            absl::string_view tag) {
  SLUICE_ASSIGN_OR_RETURN(Head head, ReadHead(row.prompt));
  CppContinuation out;
  std::string wrapper = Wrapper(head);
  if (DefinesFunction(completion, head.name)) {
    out.candidates = {absl::StrCat(kRenamedMain, Includes(head.before), completion, wrapper),
                      absl::StrCat(kRenamedMain, head.before, completion, wrapper)};
  } else {
    out.candidates = {absl::StrCat(kRenamedMain, row.prompt, ClosedBody(completion), wrapper)};
  }
  out.tests = TestsUnit(head, row, tag);
  return out;
}

}  // namespace sluice
