#include "services/cli/message/text_check.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "services/cli/message/mistake.h"

namespace sluice::cli {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr size_t kMaxMistakes = 8;

// Goes by the text's tokens.
class TextCheck {
 public:
  explicit TextCheck(absl::string_view text)
      : stream_(text.data(), static_cast<int>(text.size())), tokenizer_(&stream_, &ignored_) {
    tokenizer_.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
    tokenizer_.Next();
  }
  std::string Find(const Descriptor& type) {
    Fields(type, "", kMaxNesting);
    return mistake_;
  }

 private:
  using Tokenizer = google::protobuf::io::Tokenizer;

  const Tokenizer::Token& now() { return tokenizer_.current(); }
  bool Is(absl::string_view text) { return now().text == text; }
  bool Take(absl::string_view text) { return Is(text) && tokenizer_.Next(); }
  static std::string Place(const Tokenizer::Token& token) {
    return absl::StrCat(token.line + 1, ":", token.column + 1);
  }
  bool Wrong(const Tokenizer::Token& token, absl::string_view what) {
    mistake_ = absl::StrCat(Place(token), ": ", what);
    return false;
  }
  bool EndsTooEarly() {
    return Wrong(now(), absl::StrCat("the text ends too early", open_.empty() ? "" : ": the ", open_,
                                     open_.empty() ? "" : " is not closed"));
  }

  // Up to `closer`, or the end. All of these: false where it is of no use to go on.
  bool Fields(const Descriptor& type, absl::string_view closer, int levels) {
    const std::string open = open_;
    while (now().type != Tokenizer::TYPE_END) {
      if (!closer.empty() && Is(closer)) return true;
      if (now().type != Tokenizer::TYPE_IDENTIFIER) return false;
      const Tokenizer::Token name = now();
      const auto* field = type.FindFieldByName(name.text);
      if (field == nullptr) return Wrong(name, NoSuchField(type, name.text));
      tokenizer_.Next();
      Take(":");
      if (!(Is("[") ? List(*field, levels) : Value(*field, levels))) return false;
      open_ = open;
      if (!Take(",")) Take(";");
    }
    return closer.empty() || EndsTooEarly();
  }

  bool List(const FieldDescriptor& field, int levels) {
    open_ = absl::StrCat("\"[\" at ", Place(now()));
    const std::string open = open_;
    Take("[");
    while (!Take("]")) {
      if (!Value(field, levels)) return false;
      open_ = open;
      if (!Take(",") && !Is("]")) return now().type == Tokenizer::TYPE_END && EndsTooEarly();
    }
    return true;
  }

  bool Value(const FieldDescriptor& field, int levels) {
    if (now().type == Tokenizer::TYPE_END) return EndsTooEarly();
    if (field.message_type() != nullptr) {
      const absl::string_view closer = Is("{") ? "}" : Is("<") ? ">" : "";
      if (closer.empty() || levels == 0) return false;
      open_ = absl::StrCat("\"", now().text, "\" at ", Place(now()));
      tokenizer_.Next();
      return Fields(*field.message_type(), closer, levels - 1) && Take(closer);
    }
    if (field.enum_type() != nullptr) {
      if (now().type == Tokenizer::TYPE_STRING)
        return Wrong(now(), absl::StrCat("expected the name of a value, without quotes, got: ", now().text));
      if (now().type == Tokenizer::TYPE_IDENTIFIER &&
          field.enum_type()->FindValueByName(now().text) == nullptr)
        return Wrong(now(), NoSuchValue(field, now().text));
    }
    Take("-");
    const bool text = now().type == Tokenizer::TYPE_STRING;
    do {  // strings beside each other are one
      tokenizer_.Next();
    } while (text && now().type == Tokenizer::TYPE_STRING);
    return true;
  }

  google::protobuf::io::ArrayInputStream stream_;
  TextMistakes ignored_{""};
  Tokenizer tokenizer_;
  std::string open_;  // the innermost bracket that is open, with its place
  std::string mistake_;
};

}  // namespace

void TextMistakes::AddError(int line, int column, const std::string& message) {
  if (lines_.size() >= kMaxMistakes) return;
  lines_.push_back(absl::StrCat(name_, ":", line + 1, ":", column + 1, ": ", message));
}

absl::Status TextMistakes::ToStatus() const {
  if (lines_.empty()) return absl::InvalidArgumentError(absl::StrCat(name_, ": cannot be read"));
  return absl::InvalidArgumentError(absl::StrJoin(lines_, "\n"));
}

std::string FindTextMistake(absl::string_view text, const Descriptor& type) {
  return TextCheck(text).Find(type);
}

}  // namespace sluice::cli
