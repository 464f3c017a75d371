#include "reward/code/program.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace sluice {
namespace {

// A line that may open or close a block: "   ```python".
struct Fence {
  size_t indentation = 0, length = 0;
  char mark = 0;
  std::string info;  // first word after the marks, lower case
};

Fence ReadFence(absl::string_view line) {
  Fence fence;
  fence.indentation = std::min(line.find_first_not_of(" \t"), line.size());
  line.remove_prefix(fence.indentation);
  if (line.empty() || (line[0] != '`' && line[0] != '~')) return fence;
  size_t end = std::min(line.find_first_not_of(line[0]), line.size());
  absl::string_view info = absl::StripAsciiWhitespace(line.substr(end));
  if (end < 3 || (line[0] == '`' && absl::StrContains(info, '`'))) return fence;
  fence.length = end;
  fence.mark = line[0];
  info = absl::StripSuffix(absl::StripPrefix(info, "{"), "}");
  info = absl::StripPrefix(info, ".");
  fence.info = absl::AsciiStrToLower(info.substr(0, info.find_first_of(" \t:,{")));
  return fence;
}

struct Block {
  Fence opening;
  std::vector<absl::string_view> lines;
};

bool Closes(const Fence& fence, const Fence& opening) {
  return fence.mark == opening.mark && fence.length >= opening.length && fence.info.empty() &&
         fence.indentation <= opening.indentation + 3;
}

bool HoldsText(const std::string& info) { return info == "markdown" || info == "md"; }

absl::string_view WithoutIndentation(absl::string_view line, size_t columns) {
  size_t blanks = std::min(line.find_first_not_of(" \t"), line.size());
  return line.substr(std::min(blanks, columns));
}

// The blocks of a text. Within Markdown that is itself fenced there are blocks again; elsewhere a fence with
// an info string opens one that belongs to the program.
class BlockReader {
 public:
  std::vector<Block> Read(absl::string_view text) {
    for (absl::string_view line : absl::StrSplit(text, '\n')) Take(line);
    return std::move(blocks_);
  }

 private:
  void Take(absl::string_view line) {
    Fence fence = ReadFence(absl::StripSuffix(line, "\r"));
    if (fence.mark != 0 && TakeFence(fence)) return;
    if (open_.empty()) return;
    Block& block = blocks_[open_.back()];
    block.lines.push_back(WithoutIndentation(line, block.opening.indentation));
  }

  // Whether the fence opens or closes a block.
  bool TakeFence(const Fence& fence) {
    if (!open_.empty()) {
      const Fence& opening = blocks_[open_.back()].opening;
      if (Closes(fence, opening)) {
        if (inner_ > 0) return --inner_, false;
        open_.pop_back();
        return true;
      }
      if (!HoldsText(opening.info)) {
        bool opens_inner = fence.mark == opening.mark && fence.length >= opening.length &&
                           !fence.info.empty() && fence.indentation <= opening.indentation + 3;
        inner_ += opens_inner;
        return false;
      }
    }
    open_.push_back(blocks_.size());
    blocks_.push_back({fence, {}});
    return true;
  }

  std::vector<Block> blocks_;
  std::vector<size_t> open_;  // Markdown and what is open within it
  int inner_ = 0;             // fences that are open within the innermost
};

bool SaysLanguage(const std::string& info, CodeLanguage language) {
  static constexpr absl::string_view kPython[] = {"", "python", "py", "python3", "py3", "python2", "pycon"};
  static constexpr absl::string_view kCpp[] = {"", "cpp", "c++", "cc", "cxx", "c", "hpp", "c++17", "cpp17"};
  auto in = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), info) != std::end(names);
  };
  return language == CodeLanguage::kPython ? in(kPython) : in(kCpp);
}

// Editors of some systems put it in front of a text; to a compiler it is no part of the program.
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string Source(const Block& block) {
  std::string out;
  for (absl::string_view line : block.lines) absl::StrAppend(&out, line, "\n");
  return out;
}

}  // namespace

Program FindProgram(absl::string_view completion, CodeLanguage language) {
  constexpr absl::string_view kOpen = "<think>", kClose = "</think>";
  absl::ConsumePrefix(&completion, kByteOrderMark);
  size_t close = completion.rfind(kClose);
  absl::string_view said =
      close == absl::string_view::npos ? completion : completion.substr(close + kClose.size());
  absl::ConsumePrefix(&said, kByteOrderMark);
  size_t open = said.rfind(kOpen);
  if (open != absl::string_view::npos && absl::StripAsciiWhitespace(said.substr(0, open)).empty()) {
    return {"", false, "the reasoning is not closed, so there is no program after it"};
  }
  std::vector<Block> blocks = BlockReader().Read(said);
  auto last = [&](bool named) {
    return std::find_if(blocks.rbegin(), blocks.rend(), [&](const Block& b) {
      return b.opening.info.empty() != named && SaysLanguage(b.opening.info, language);
    });
  };
  auto chosen = last(true);  // what follows without a name is its output or its use
  if (chosen == blocks.rend()) chosen = last(false);
  if (chosen == blocks.rend()) chosen = blocks.rbegin();
  Program program = chosen == blocks.rend() ? Program{std::string(said)} : Program{Source(*chosen), true};
  if (absl::StartsWith(program.source, kByteOrderMark)) program.source.erase(0, kByteOrderMark.size());
  if (absl::StripAsciiWhitespace(program.source).empty()) program.missing = "the completion holds no program";
  return program;
}

}  // namespace sluice
