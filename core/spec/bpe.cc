#include "core/spec/bpe.h"

#include <functional>
#include <queue>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/spec/json.h"
#include "core/spec/unicode.h"

namespace sluice {
namespace {

constexpr int64_t kMaxTokens = 4 << 20;
constexpr const char* kWhere = "tokenizer.json: model";

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(kWhere, ": ", what));
}

// A merge is ["a", "b"] or "a b".
absl::StatusOr<std::pair<std::string, std::string>> ReadPair(const nlohmann::json& json) {
  if (json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_string()) {
    return std::make_pair(json[0].get<std::string>(), json[1].get<std::string>());
  }
  if (json.is_string()) {
    const std::string& text = json.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return std::make_pair(text.substr(0, space), text.substr(space + 1));
    }
  }
  return absl::InvalidArgumentError("is neither \"a b\" nor [\"a\", \"b\"]");
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Bpe>> Bpe::Parse(const nlohmann::json& json) {
  JsonFields in(json, kWhere);
  if (in.StringOr("type", "BPE") != "BPE") in.Fail("type", "is not \"BPE\", the only kind supported");
  if (in.NumberOr("dropout", 0, 0, 1) != 0) in.Fail("dropout", "is not supported");
  if (in.BoolOr("byte_fallback", false))
    in.Fail("byte_fallback", "is not supported (byte-level vocabularies only)");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!in.StringOr(affix, "").empty()) in.Fail(affix, "is not supported");
  }
  auto bpe = std::make_unique<Bpe>();
  bpe->ignore_merges_ = in.BoolOr("ignore_merges", false);
  bpe->fuse_unknown_ = in.BoolOr("fuse_unk", false);
  const std::string unknown = in.StringOr("unk_token", "");
  SLUICE_RETURN_IF_ERROR(in.status());
  SLUICE_RETURN_IF_ERROR(bpe->ReadVocabulary(in.Find("vocab")));
  SLUICE_RETURN_IF_ERROR(bpe->ReadMerges(in.Find("merges")));
  if (!unknown.empty()) {
    bpe->unknown_id_ = bpe->TokenId(unknown);
    if (bpe->unknown_id_ < 0)
      return Bad(absl::StrCat("field \"unk_token\" is \"", unknown, "\", which is no token"));
  }
  return std::unique_ptr<const Bpe>(std::move(bpe));
}

absl::Status Bpe::ReadVocabulary(const nlohmann::json* vocab) {
  if (vocab == nullptr || !vocab->is_object() || vocab->empty())
    return Bad("field \"vocab\" is not an object of tokens");
  vocabulary_.reserve(vocab->size());
  std::vector<bool> used(static_cast<size_t>(kMaxTokens));
  for (const auto& [token, id] : vocab->items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= static_cast<uint64_t>(kMaxTokens)) {
      return Bad(absl::StrCat("field \"vocab\": token \"", token.substr(0, 64), "\" has no id from 0 to ",
                              kMaxTokens));
    }
    const int32_t number = id.get<int32_t>();
    if (used[static_cast<size_t>(number)]) {
      return Bad(absl::StrCat("field \"vocab\": id ", number, " stands for two tokens, one of them \"",
                              token.substr(0, 64), "\""));
    }
    used[static_cast<size_t>(number)] = true;
    vocabulary_.emplace(token, number);
  }
  return absl::OkStatus();
}

absl::Status Bpe::ReadMerges(const nlohmann::json* merges) {
  if (merges == nullptr || !merges->is_array() || merges->size() > static_cast<size_t>(kMaxTokens)) {
    return Bad("field \"merges\" is not a list");
  }
  merges_.reserve(merges->size());
  for (size_t i = 0; i < merges->size(); ++i) {
    absl::StatusOr<std::pair<std::string, std::string>> pair = ReadPair((*merges)[i]);
    const std::string where = absl::StrCat(kWhere, ": merges[", i, "]");
    if (!pair.ok()) return Annotate(pair.status(), where);
    SLUICE_RETURN_IF_ERROR(Annotate(AddMerge(pair->first, pair->second, static_cast<int32_t>(i)), where));
  }
  return absl::OkStatus();
}

absl::Status Bpe::AddMerge(const std::string& left, const std::string& right, int32_t rank) {
  const int32_t a = TokenId(left), b = TokenId(right), joined = TokenId(left + right);
  for (const auto& [id, token] : {std::make_pair(a, left), {b, right}, {joined, left + right}}) {
    if (id < 0)
      return absl::InvalidArgumentError(
          absl::StrCat("\"", token.substr(0, 64), "\" is not in the vocabulary"));
  }
  merges_[static_cast<uint64_t>(a) << 32 | static_cast<uint32_t>(b)] = {rank, joined};
  return absl::OkStatus();
}

int32_t Bpe::TokenId(absl::string_view token) const {
  const auto it = vocabulary_.find(token);
  return it == vocabulary_.end() ? -1 : it->second;
}

const Bpe::Merge* Bpe::FindMerge(int32_t left, int32_t right) const {
  const auto it = merges_.find(static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right));
  return it == merges_.end() ? nullptr : &it->second;
}

// A character that is no token becomes the unknown one, or is left out when there is none.
std::vector<int32_t> Bpe::Characters(const std::string& piece) const {
  std::vector<int32_t> symbols;
  bool before_unknown = false;
  size_t at = 0;
  while (at < piece.size()) {
    const size_t begin = at;
    NextCodePoint(piece, at);
    const int32_t id = TokenId(absl::string_view(piece).substr(begin, at - begin));
    if (id >= 0) {
      symbols.push_back(id);
    } else if (unknown_id_ >= 0 && !(fuse_unknown_ && before_unknown)) {
      symbols.push_back(unknown_id_);
    }
    before_unknown = id < 0;
  }
  return symbols;
}

void Bpe::MergeAll(std::vector<int32_t>& symbols) const {
  struct Node {
    int32_t id, previous, next;
  };
  const int32_t count = static_cast<int32_t>(symbols.size());
  std::vector<Node> nodes(symbols.size());
  for (int32_t i = 0; i < count; ++i)
    nodes[static_cast<size_t>(i)] = {symbols[static_cast<size_t>(i)], i - 1, i + 1};
  using Candidate =
      std::tuple<int32_t, int32_t, int32_t>;  // rank, place of the left symbol, id of the result
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<Candidate>> queue;
  const auto offer = [&](int32_t left) {
    if (left < 0) return;
    const Node& node = nodes[static_cast<size_t>(left)];
    if (node.next >= count) return;
    const Merge* merge = FindMerge(node.id, nodes[static_cast<size_t>(node.next)].id);
    if (merge != nullptr) queue.emplace(merge->rank, left, merge->id);
  };
  for (int32_t i = 0; i + 1 < count; ++i) offer(i);
  while (!queue.empty()) {
    const auto [rank, left, id] = queue.top();
    queue.pop();
    Node& node = nodes[static_cast<size_t>(left)];
    if (node.id < 0 || node.next >= count) continue;
    const Node gone = nodes[static_cast<size_t>(node.next)];
    const Merge* merge = FindMerge(node.id, gone.id);
    if (merge == nullptr || merge->id != id || merge->rank != rank) continue;  // changed since it was offered
    nodes[static_cast<size_t>(node.next)].id = -1;
    node.id = id;
    node.next = gone.next;
    if (gone.next < count) nodes[static_cast<size_t>(gone.next)].previous = left;
    offer(node.previous);
    offer(left);
  }
  symbols.clear();
  for (const Node& node : nodes) {
    if (node.id >= 0) symbols.push_back(node.id);
  }
}

void Bpe::Encode(const std::string& piece, std::vector<int32_t>& ids) const {
  if (ignore_merges_) {
    const int32_t whole = TokenId(piece);
    if (whole >= 0) return ids.push_back(whole);
  }
  std::vector<int32_t> symbols = Characters(piece);
  if (symbols.size() > 1) MergeAll(symbols);
  ids.insert(ids.end(), symbols.begin(), symbols.end());
}

}  // namespace sluice
