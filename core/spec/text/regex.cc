#include "core/spec/text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status.h"

namespace sluice {
namespace {

constexpr size_t kMaxPatternBytes = 64 << 10;
constexpr uint32_t kMatchLimit = 20'000'000;
constexpr uint32_t kHeapLimitKib = 64 << 10;
// White_Space of Unicode, which is what Oniguruma's \s means; PCRE2's has U+180E as well.
constexpr const char* kSpaceItems = "\\t-\\r\\x{85}\\p{Z}";

absl::Status Refuse(absl::string_view why, size_t at) {
  return absl::InvalidArgumentError(
      absl::StrCat("regular expression: ", why, " at byte ", at, " is not supported"));
}

// Walks the pattern once, copying what means the same.
class Translator {
 public:
  explicit Translator(absl::string_view in) : in_(in) {}

  absl::StatusOr<std::string> Run() {
    std::string out;
    while (at_ < in_.size()) {
      const char c = in_[at_];
      if (c == '\\') {
        SLUICE_RETURN_IF_ERROR(Escape(false, out));
      } else if (c == '[') {
        SLUICE_RETURN_IF_ERROR(Class(out));
      } else if (absl::StartsWith(in_.substr(at_), "(?")) {
        SLUICE_RETURN_IF_ERROR(Group(out));
      } else if (c == '}' && at_ + 1 < in_.size() && in_[at_ + 1] == '+') {
        return Refuse("an interval followed by +", at_);
      } else {
        out.push_back(c);
        ++at_;
      }
    }
    return out;
  }

 private:
  // Options: Ruby's m is PCRE2's s; only i is common.
  absl::Status Group(std::string& out) {
    size_t end = at_ + 2;
    while (end < in_.size() && (isalpha(static_cast<unsigned char>(in_[end])) || in_[end] == '-')) ++end;
    for (size_t i = at_ + 2; i < end; ++i) {
      if (in_[i] != 'i' && in_[i] != '-') return Refuse("this group option", i);
    }
    out.append(in_.data() + at_, end - at_);
    at_ = end;
    return absl::OkStatus();
  }

  // \p{Name}: PCRE2 means script extensions by a script's name, Oniguruma the script.
  absl::Status Property(std::string& out) {
    const size_t open = at_ + 2;
    const size_t close = in_.find('}', open);
    if (open >= in_.size() || in_[open] != '{' || close == absl::string_view::npos || close - open > 64) {
      return Refuse("a property without {name}", at_);
    }
    absl::string_view name = in_.substr(open + 1, close - open - 1);
    const bool negated = absl::StartsWith(name, "^");
    if (negated) name.remove_prefix(1);
    const bool script = name.size() > 2 && name != "Any";
    absl::StrAppend(&out, "\\", in_.substr(at_ + 1, 1), "{", negated ? "^" : "", script ? "sc:" : "", name,
                    "}");
    at_ = close + 1;
    return absl::OkStatus();
  }

  absl::Status Escape(bool in_class, std::string& out) {
    if (at_ + 1 >= in_.size()) return Refuse("a final backslash", at_);
    const char c = in_[at_ + 1];
    if (c == 'p' || c == 'P') return Property(out);
    if (c == 's') {
      absl::StrAppend(&out, in_class ? "" : "[", kSpaceItems, in_class ? "" : "]");
    } else if (c == 'S' && !in_class) {
      absl::StrAppend(&out, "[^", kSpaceItems, "]");
    } else if (absl::StrContains("SHhRXKkgGyYO", absl::string_view(&c, 1)) || (c >= '1' && c <= '9')) {
      return Refuse(absl::StrCat("the escape \\", std::string(1, c)), at_);
    } else {
      absl::StrAppend(&out, "\\", std::string(1, c));
    }
    at_ += 2;
    return absl::OkStatus();
  }

  // [...], with Ruby's intersections: [A&&[^B]] becomes (?:(?![B])[A]).
  absl::Status Class(std::string& out) {
    const size_t begin = at_++;
    std::string negation;
    if (at_ < in_.size() && in_[at_] == '^') {
      negation = "^";
      ++at_;
    }
    std::string items, conditions;
    bool first = true;
    while (at_ < in_.size() && (in_[at_] != ']' || first)) {
      first = false;
      if (in_[at_] == '\\') {
        SLUICE_RETURN_IF_ERROR(Escape(true, items));
      } else if (absl::StartsWith(in_.substr(at_), "[:")) {
        const size_t end = in_.find(":]", at_);
        if (end == absl::string_view::npos) return Refuse("an open [: name", at_);
        items.append(in_.data() + at_, end + 2 - at_);
        at_ = end + 2;
      } else if (absl::StartsWith(in_.substr(at_), "&&[") && negation.empty() && !items.empty()) {
        at_ += 2;
        conditions += "(?=";
        SLUICE_RETURN_IF_ERROR(Class(conditions));
        conditions += ")";
      } else if (in_[at_] == '[' || absl::StartsWith(in_.substr(at_), "&&") || !conditions.empty()) {
        return Refuse("this nested class", at_);
      } else {
        items.push_back(in_[at_++]);
      }
    }
    if (at_ >= in_.size()) return Refuse("an open class", begin);
    ++at_;
    const std::string plain = absl::StrCat("[", negation, items, "]");
    absl::StrAppend(&out, conditions.empty() ? plain : absl::StrCat("(?:", conditions, plain, ")"));
    return absl::OkStatus();
  }

  absl::string_view in_;
  size_t at_ = 0;
};

}  // namespace

struct Regex::Compiled {
  pcre2_code* code = nullptr;
  bool jit = false;
  ~Compiled() { pcre2_code_free(code); }
};

absl::StatusOr<std::string> TranslateOniguruma(absl::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("regular expression: longer than ", kMaxPatternBytes, " bytes"));
  }
  return Translator(pattern).Run();
}

Regex::Regex(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Regex::~Regex() = default;

absl::StatusOr<std::unique_ptr<const Regex>> Regex::Compile(absl::string_view oniguruma_pattern) {
  SLUICE_ASSIGN_OR_RETURN(const std::string pattern, TranslateOniguruma(oniguruma_pattern));
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto compiled = std::make_unique<Compiled>();
  compiled->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                 PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                                 &offset, context);
  pcre2_compile_context_free(context);
  if (compiled->code == nullptr) {
    PCRE2_UCHAR message[256] = {0};
    pcre2_get_error_message(error, message, sizeof(message));
    return absl::InvalidArgumentError(
        absl::StrCat("regular expression: ", reinterpret_cast<const char*>(message), " at byte ", offset,
                     " of ", pattern.substr(0, 200)));
  }
  compiled->jit = pcre2_jit_compile(compiled->code, PCRE2_JIT_COMPLETE) == 0;
  return std::unique_ptr<const Regex>(new Regex(std::move(compiled)));
}

namespace {

// The contexts of one FindAll.
struct Matching {
  explicit Matching(const pcre2_code* code)
      : data(pcre2_match_data_create_from_pattern(code, nullptr)),
        context(pcre2_match_context_create(nullptr)) {
    pcre2_set_match_limit(context, kMatchLimit);
    pcre2_set_heap_limit(context, kHeapLimitKib);
  }
  ~Matching() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
  }
  pcre2_match_data* data;
  pcre2_match_context* context;
};

size_t NextCharacter(absl::string_view text, size_t at) {
  ++at;
  while (at < text.size() && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) ++at;
  return at;
}

}  // namespace

absl::StatusOr<std::vector<ByteSpan>> Regex::FindAll(absl::string_view text) const {
  Matching matching(compiled_->code);
  std::vector<ByteSpan> out;
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  size_t at = 0;
  while (at <= text.size()) {
    int rc = pcre2_match(compiled_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK, matching.data,
                         matching.context);
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter's memory is bounded by the heap limit instead
      rc = pcre2_match(compiled_->code, subject, text.size(), at, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                       matching.data, matching.context);
    }
    if (rc == PCRE2_ERROR_NOMATCH) break;
    if (rc < 0) {
      return absl::ResourceExhaustedError(absl::StrCat("regular expression: matching at byte ", at,
                                                       " passed its limits (PCRE2 error ", rc, ")"));
    }
    const PCRE2_SIZE* span = pcre2_get_ovector_pointer(matching.data);
    // No empty match right behind the last one, as Oniguruma's iterator.
    const bool empty = span[0] == span[1];
    if (!empty || out.empty() || out.back().second != span[0]) out.emplace_back(span[0], span[1]);
    at = empty ? NextCharacter(text, span[1]) : span[1];
  }
  return out;
}

}  // namespace sluice
