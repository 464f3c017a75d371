#include "rollout/stream_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice {

using kernels::kBlockTokens;

int64_t Stream::RoutedWidth() const {
  if (!group->request.sampling.record_experts || group->run == nullptr) return 0;
  const ModelConfig& config = group->run->policy->config;
  return std::count(config.moe_layer.begin(), config.moe_layer.end(), true) * config.moe.experts_per_token;
}

StreamTable::StreamTable(const DecoderBackend* backend, int64_t cache_bytes, bool share_prefixes,
                         EngineMetrics& metrics)
    : share_prefixes_(share_prefixes), metrics_(metrics), blocks_(backend, cache_bytes) {
  blocks_.set_reclaim([this] { return prefixes_.Evict(); });
}

int32_t StreamTable::running_sequences() const {
  const auto is_sequence = [](const auto& entry) { return entry.second->kind != StreamKind::kPrompt; };
  return static_cast<int32_t>(std::count_if(running_.begin(), running_.end(), is_sequence));
}

int32_t StreamTable::queued_sequences() const {
  size_t out = 0;
  for (const auto& [age, stream] : waiting_) out += stream->weight();
  for (const auto& [age, stream] : running_) {
    out += stream->kind == StreamKind::kPrompt ? stream->weight() : 0;
  }
  return static_cast<int32_t>(out);
}

void StreamTable::KeepPrefixesOf(uint64_t run_ordinal) {
  if (prefix_run_ == run_ordinal) return;
  prefix_run_ = run_ordinal;
  prefixes_.Clear();
}

bool StreamTable::Start(Streams::iterator it) {
  Stream& stream = *it->second;
  if (stream.cache == nullptr) Reset(stream);
  const int64_t wanted = stream.kind == StreamKind::kScore ? 0 : PrefixLimit(stream) / kBlockTokens;
  const int64_t taken = TakePrefix(stream);
  if (!stream.cache->Reserve(static_cast<int64_t>(stream.known.size()))) {
    Reset(stream);
    return false;
  }
  if (Shares(stream)) metrics_.prefix_misses.Increment(static_cast<double>(wanted - taken));
  running_.insert(waiting_.extract(it));
  return true;
}

bool StreamTable::MakeRoom(Streams::iterator it, int64_t positions) {
  while (!it->second->cache->Reserve(positions)) {
    const auto youngest = std::prev(running_.end());
    if (youngest == it) return false;
    Preempt(youngest);
  }
  return true;
}

void StreamTable::Reset(Stream& stream) {
  stream.cache = std::make_unique<SequenceCache>(&blocks_, stream.group->run->cache_shape());
  stream.cached = stream.chained = 0;
  stream.node = kPrefixRoot;
  stream.logits.clear();
  if (stream.kind == StreamKind::kScore) stream.group->scores.clear();
}

void StreamTable::Preempt(Streams::iterator it) {
  Reset(*it->second);
  waiting_.insert(running_.extract(it));
  metrics_.preemptions.Increment();
}

void StreamTable::EraseGroup(uint64_t ordinal) {
  for (Streams* streams : {&running_, &waiting_}) {
    streams->erase(streams->lower_bound({ordinal, 0}), streams->upper_bound({ordinal, kPromptPlace}));
  }
}

bool StreamTable::Shares(const Stream& stream) const {
  return share_prefixes_ && stream.group->run->ordinal == prefix_run_;
}

// Positions that need not be computed if they are kept.
int64_t StreamTable::PrefixLimit(const Stream& stream) const {
  const int64_t limit = static_cast<int64_t>(stream.known.size()) - 1, width = stream.RoutedWidth();
  if (width == 0) return limit;
  return std::min(limit, static_cast<int64_t>(stream.experts.size()) / width);
}

int64_t StreamTable::TakePrefix(Stream& stream) {
  // Scores want the logits of every row; a chain that ended before `cached` cannot be gone on with.
  if (!Shares(stream) || stream.kind == StreamKind::kScore) return 0;
  if (stream.chained * kBlockTokens != stream.cached) return 0;
  const int64_t before = stream.chained, limit = PrefixLimit(stream);
  const absl::Span<const int32_t> known = stream.known;
  while (stream.cached + kBlockTokens <= limit) {
    const PrefixCache::Node* kept = prefixes_.Find(
        stream.node, known.subspan(static_cast<size_t>(stream.cached), static_cast<size_t>(kBlockTokens)));
    if (kept == nullptr) break;
    if (stream.chained < stream.cache->blocks()) {
      stream.cache->Replace(stream.chained, kept->block);
    } else {
      stream.cache->Share(kept->block);
    }
    stream.node = kept->id;
    ++stream.chained;
    stream.cached += kBlockTokens;
  }
  const int64_t taken = stream.chained - before;
  if (taken > 0) {
    prefixes_.Touch(stream.node);
    metrics_.prefix_hits.Increment(static_cast<double>(taken));
    metrics_.prefix_tokens_saved.Increment(static_cast<double>(taken * kBlockTokens));
  }
  return taken;
}

void StreamTable::KeepPrefix(Stream& stream) {
  if (!Shares(stream)) return;
  const absl::Span<const int32_t> known = stream.known;
  while ((stream.chained + 1) * kBlockTokens <= stream.cached) {
    const CacheBlock& own = stream.cache->block(stream.chained);
    const PrefixCache::Node* kept = prefixes_.Insert(
        stream.node,
        known.subspan(static_cast<size_t>(stream.chained * kBlockTokens), static_cast<size_t>(kBlockTokens)),
        own);
    if (kept == nullptr) return;
    if (kept->block != own) stream.cache->Replace(stream.chained, kept->block);
    stream.node = kept->id;
    ++stream.chained;
  }
}

bool StreamTable::LacksPrompt(const Stream& stream) const {
  const int64_t given = static_cast<int64_t>(stream.group->request.prompt_tokens.size());
  return Shares(stream) && stream.kind != StreamKind::kScore &&
         stream.chained == stream.cached / kBlockTokens &&
         (stream.chained + 1) * kBlockTokens <= std::min(given, PrefixLimit(stream));
}

void StreamTable::UpdateGauges() {
  metrics_.sequences_running.Set(running_sequences());
  metrics_.sequences_queued.Set(queued_sequences());
  metrics_.cache_blocks_used.Set(static_cast<double>(blocks_.used_blocks()));
  metrics_.prefix_blocks.Set(static_cast<double>(prefixes_.blocks()));
}

}  // namespace sluice
