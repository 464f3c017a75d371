#include "core/spec/tokenizer/bpe_encoder.h"

#include <algorithm>

#include "core/spec/text/unicode.h"

namespace sluice {
namespace {

constexpr size_t kMaxWordBytes = 64;  // longer pieces are not remembered
constexpr size_t kMaxWords = 1 << 16;
constexpr size_t kMaxDropped = 16;

}  // namespace

void BpeEncoder::Encode(absl::string_view piece, std::vector<int32_t>& ids) {
  if (piece.size() <= kMaxWordBytes) return EncodeWord(piece, ids);
  const int32_t whole = bpe_.ignore_merges() ? bpe_.TokenId(piece) : -1;
  if (whole >= 0) return ids.push_back(whole);
  EncodeLong(piece, ids);
}

void BpeEncoder::EncodeWord(absl::string_view word, std::vector<int32_t>& ids) {
  const auto known = words_.find(word);
  if (known != words_.end()) {
    const auto [begin, end] = known->second;
    ids.insert(ids.end(), word_ids_.begin() + static_cast<ptrdiff_t>(begin),
               word_ids_.begin() + static_cast<ptrdiff_t>(end));
    return;
  }
  const size_t before = ids.size();
  const int32_t whole = bpe_.ignore_merges() ? bpe_.TokenId(word) : -1;
  if (whole >= 0) {
    ids.push_back(whole);
  } else {
    ReadSymbols(word);
    MergeAll(symbols_, ids);
  }
  if (words_.size() >= kMaxWords) return;
  const size_t begin = word_ids_.size();
  word_ids_.insert(word_ids_.end(), ids.begin() + static_cast<ptrdiff_t>(before), ids.end());
  words_.emplace(word, std::make_pair(begin, word_ids_.size()));
}

// A long piece, for instance a whole text without pre-tokenizer, is cut where nothing can be merged.
void BpeEncoder::EncodeLong(absl::string_view piece, std::vector<int32_t>& ids) {
  const bool cuttable = ReadSymbols(piece) && !bpe_.ignore_merges();
  const std::vector<int32_t> symbols = std::move(symbols_);
  const std::vector<size_t> begins = std::move(begins_);
  symbols_.clear();
  begins_.clear();
  size_t begin = 0;
  for (size_t end = 1; end <= symbols.size(); ++end) {
    const bool last = end == symbols.size();
    if (!last && (!cuttable || bpe_.MayJoin(symbols[end - 1], symbols[end]))) continue;
    const size_t from = begins[begin], to = last ? piece.size() : begins[end];
    if (cuttable && to - from <= kMaxWordBytes && end - begin > 1) {
      EncodeWord(piece.substr(from, to - from), ids);
    } else {
      MergeAll(absl::MakeConstSpan(symbols).subspan(begin, end - begin), ids);
    }
    begin = end;
  }
}

bool BpeEncoder::ReadSymbols(absl::string_view piece) {
  symbols_.clear();
  begins_.clear();
  bool complete = true,
       pending = false;  // an unknown token waits for its run to end
  size_t at = 0;
  const auto add = [&](int32_t id, size_t begin) {
    symbols_.push_back(id);
    begins_.push_back(begin);
  };
  while (at < piece.size()) {
    const size_t begin = at;
    const int32_t c = NextCodePoint(piece, at);
    const absl::string_view character = piece.substr(begin, at - begin);
    const int32_t id = bpe_.CharacterId(c, character);
    if (id < 0 && FallBackToBytes(character, begin)) continue;
    if (pending && (id >= 0 || !bpe_.fuse_unknown())) {
      add(bpe_.unknown_id(), begin);
      pending = false;
    }
    if (id >= 0) {
      add(id, begin);
      continue;
    }
    complete = false;
    pending = bpe_.unknown_id() >= 0;
    if (!pending) Drop(character);
  }
  if (pending) add(bpe_.unknown_id(), piece.size());
  return complete;
}

bool BpeEncoder::FallBackToBytes(absl::string_view character, size_t begin) {
  for (char c : character) {
    if (bpe_.ByteId(static_cast<uint8_t>(c)) < 0) return false;
  }
  for (char c : character) {
    symbols_.push_back(bpe_.ByteId(static_cast<uint8_t>(c)));
    begins_.push_back(begin++);
  }
  return true;
}

void BpeEncoder::Drop(absl::string_view character) {
  if (dropped_.size() >= kMaxDropped) return;
  if (std::find(dropped_.begin(), dropped_.end(), character) == dropped_.end())
    dropped_.emplace_back(character);
}

void BpeEncoder::Offer(int32_t left) {
  if (left < 0) return;
  const Node& node = nodes_[static_cast<size_t>(left)];
  if (static_cast<size_t>(node.next) >= nodes_.size()) return;
  const Bpe::Merge* merge = bpe_.FindMerge(node.id, nodes_[static_cast<size_t>(node.next)].id);
  if (merge != nullptr) queue_.emplace(merge->rank, left, merge->id);
}

void BpeEncoder::MergeAll(absl::Span<const int32_t> symbols, std::vector<int32_t>& ids) {
  const int32_t count = static_cast<int32_t>(symbols.size());
  nodes_.resize(symbols.size());
  for (int32_t i = 0; i < count; ++i)
    nodes_[static_cast<size_t>(i)] = {symbols[static_cast<size_t>(i)], i - 1, i + 1};
  for (int32_t i = 0; i + 1 < count; ++i) Offer(i);
  while (!queue_.empty()) {
    const auto [rank, left, id] = queue_.top();
    queue_.pop();
    Node& node = nodes_[static_cast<size_t>(left)];
    if (node.id < 0 || node.next >= count) continue;
    const Node gone = nodes_[static_cast<size_t>(node.next)];
    const Bpe::Merge* merge = bpe_.FindMerge(node.id, gone.id);
    if (merge == nullptr || merge->id != id || merge->rank != rank) continue;  // changed since it was offered
    nodes_[static_cast<size_t>(node.next)].id = -1;
    node.id = id;
    node.next = gone.next;
    if (gone.next < count) nodes_[static_cast<size_t>(gone.next)].previous = left;
    Offer(node.previous);
    Offer(left);
  }
  for (const Node& node : nodes_) {
    if (node.id >= 0) ids.push_back(node.id);
  }
}

}  // namespace sluice
