// Against tokenizers and chat templates made by tests/parity/text_parity.py, in the folder
// $SLUICE_TEXT_CASES.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/file.h"
#include "core/spec/template/chat_template.h"
#include "core/spec/tokenizer/tokenizer.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace sluice {
namespace {

using Ids = std::vector<int32_t>;
constexpr int kMaxReported = 5;  // of one tokenizer

nlohmann::json ReadJson(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadFile(path);
  EXPECT_TRUE(text.ok()) << text.status();
  return nlohmann::json::parse(text.value_or("null"));
}

class TextParity : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("SLUICE_TEXT_CASES");
    if (folder == nullptr)
      GTEST_SKIP() << "SLUICE_TEXT_CASES is not set: "
                      "tests/parity/text_parity.py sets it";
    folder_ = folder;
  }
  std::string folder_;
};

std::string Hex(const nlohmann::json& text) { return absl::HexStringToBytes(text.get<std::string>()); }

// Every token by itself, through the decoder that streaming uses.
std::string Streamed(const Tokenizer& tokenizer, const Ids& ids, bool skip_special_tokens) {
  const std::unique_ptr<TextDecoder> decoder = tokenizer.NewDecoder(skip_special_tokens);
  std::string out;
  for (int32_t id : ids) out += decoder->Next(id);
  return out + decoder->Pending();
}

TEST_F(TextParity, TokenizersEncodeAndDecodeAsTheLibrary) {
  size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    const std::string path = entry.path().string();
    if (!absl::EndsWith(path, ".cases.json")) continue;
    SCOPED_TRACE(path);
    const auto tokenizer = ParseTokenizer(*ReadFile(path.substr(0, path.size() - 11) + ".json"));
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
    const nlohmann::json cases = ReadJson(path);
    int wrong = 0;
    for (const nlohmann::json& item : cases["texts"]) {
      const std::string text = Hex(item["text"]);
      const auto ids = (*tokenizer)->Encode(text, true), plain = (*tokenizer)->Encode(text, false);
      ASSERT_TRUE(ids.ok() && plain.ok()) << ids.status() << " " << text;
      if (*ids != item["ids"].get<Ids>() || *plain != item["plain"].get<Ids>()) {
        if (++wrong > kMaxReported) continue;
        EXPECT_EQ(*plain, item["plain"].get<Ids>()) << absl::CHexEscape(text);
      }
    }
    compared += cases["texts"].size();
    EXPECT_EQ(wrong, 0) << "encodings";
    wrong = 0;
    for (const nlohmann::json& item : cases["decodings"]) {
      const Ids ids = item["ids"].get<Ids>();
      const std::string whole = Streamed(**tokenizer, ids, false), skipped = Streamed(**tokenizer, ids, true);
      if (whole != Hex(item["text"]) || skipped != Hex(item["skipped"])) {
        if (++wrong > kMaxReported) continue;
        EXPECT_EQ(absl::CHexEscape(whole), absl::CHexEscape(Hex(item["text"]))) << item["ids"];
      }
    }
    compared += cases["decodings"].size();
    EXPECT_EQ(wrong, 0) << "decodings";
  }
  EXPECT_GT(compared, 1000u);
}

TEST_F(TextParity, TemplatesRenderAsTransformers) {
  const absl::StatusOr<std::string> text = ReadFile(absl::StrCat(folder_, "/templates.json"));
  ASSERT_TRUE(text.ok()) << text.status();
  const auto cases = nlohmann::ordered_json::parse(*text);
  EXPECT_GT(cases.size(), 100u);
  for (const nlohmann::ordered_json& item : cases) {
    SCOPED_TRACE(absl::StrCat(item["name"].get<std::string>(), ": ", item["source"].get<std::string>()));
    const auto parsed = ChatTemplate::Parse(item["source"].get<std::string>(), "<s>", "</s>");
    const absl::StatusOr<std::string> rendered =
        parsed.ok() ? (*parsed)->RenderVariables(item["variables"], absl::Now())
                    : absl::StatusOr<std::string>(parsed.status());
    if (item.contains("error")) {
      EXPECT_FALSE(rendered.ok()) << *rendered;
    } else if (rendered.ok()) {
      EXPECT_EQ(*rendered, item["text"].get<std::string>());
    } else {
      ADD_FAILURE() << rendered.status();
    }
  }
}

}  // namespace
}  // namespace sluice
