#include "rollout/batcher.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "core/base/fail_point.h"
#include "core/base/status.h"
#include "core/kernels/kernels.h"
#include "core/rl/trajectory_parts.h"

namespace sluice {

Batcher::Batcher(BatcherOptions options, ThreadPool& pool, Clock& clock, EngineMetrics& metrics,
                 std::function<ServedPolicy()> served)
    : options_(std::move(options)),
      pool_(pool),
      clock_(clock),
      metrics_(metrics),
      served_(std::move(served)),
      streams_(options_.backend, options_.cache_bytes, options_.share_prefixes, metrics) {}

void Batcher::Add(std::shared_ptr<RolloutGroup> group) {
  auto stream = std::make_unique<Stream>();
  stream->group = group;
  stream->known = group->request.prompt_tokens;
  if (group->kind == GroupKind::kScore) {
    stream->kind = StreamKind::kScore;
    stream->known.pop_back();  // nothing is asked of what follows the last token
    group->unfinished = 1;
  } else {
    group->unfinished = group->request.indices.size();
    for (size_t i = 0; i < group->request.indices.size(); ++i) stream->pending.push_back(i);
  }
  streams_.waiting()[{group->ordinal, kPromptPlace}] = std::move(stream);
  groups_[group->ordinal] = std::move(group);
}

void Batcher::Watch() {
  EndExpired();
  FollowSwap();
  streams_.UpdateGauges();
}

void Batcher::Step() {
  EndExpired();
  FollowSwap();
  Admit();
  BuildBatches();
  for (Batch& batch : batches_) RunBatch(batch);
  batches_.clear();
  ForkPrompts();
  streams_.UpdateGauges();
}

std::vector<Batcher::Feed>& Batcher::FeedsOf(const std::shared_ptr<PolicyRun>& run) {
  for (Batch& batch : batches_) {
    if (batch.run == run) return batch.feeds;
  }
  batches_.push_back({run, {}});
  return batches_.back().feeds;
}

// Decoding streams take one row each, the others share the budget, older ones first. Of streams that lack the
// same prompt one computes it, the others take its blocks.
void Batcher::BuildBatches() {
  Streams& running = streams_.running();
  int64_t budget = options_.prefill_chunk_tokens;
  const RolloutGroup* prompt_of = nullptr;  // whose prompt an older stream computes in this step
  for (auto it = running.begin(); it != running.end();) {
    Stream& stream = *it->second;
    const auto here = it++;
    const bool decodes = stream.kind == StreamKind::kMember && stream.remaining() == 1;
    if (!decodes) {
      streams_.TakePrefix(stream);
      if (streams_.LacksPrompt(stream)) {
        if (prompt_of == stream.group.get() && stream.cached % kernels::kBlockTokens == 0) continue;
        prompt_of = stream.group.get();
      }
    }
    const int64_t count = decodes ? 1 : std::min(stream.remaining(), budget);
    // A stream without tokens to feed has been computed, or is a score of a single token, which only ends.
    if (count == 0 && (stream.kind != StreamKind::kScore || stream.remaining() > 0)) continue;
    if (!streams_.MakeRoom(here, stream.cached + count)) {
      streams_.Preempt(here);  // the youngest of all: what follows `here` is nothing
      break;
    }
    it = std::next(here);  // the one after may have been preempted
    if (!decodes) budget -= count;
    FeedsOf(stream.group->run).push_back({here->first, &stream, count});
  }
}

void Batcher::BuildRows(const std::vector<Feed>& feeds) {
  rows_.clear();
  for (const Feed& feed : feeds) {
    Stream& stream = *feed.stream;
    const int64_t end = stream.cached + feed.count, width = stream.RoutedWidth();
    const int64_t recorded = width > 0 ? static_cast<int64_t>(stream.experts.size()) / width : end;
    if (recorded < end) stream.experts.resize(static_cast<size_t>(end * width));
    for (int64_t p = stream.cached; p < end; ++p) {
      uint16_t* experts = p < recorded ? nullptr : stream.experts.data() + p * width;
      rows_.push_back(
          {stream.known[static_cast<size_t>(p)], static_cast<int32_t>(p), stream.cache->table(), experts});
    }
    const int64_t given = static_cast<int64_t>(stream.group->request.prompt_tokens.size());
    const bool prefills = feed.count > 1 || stream.cached < given;
    if (prefills) metrics_.prompt_tokens.Increment(static_cast<double>(feed.count));
  }
}

void Batcher::RunBatch(Batch& batch) {
  BuildRows(batch.feeds);
  hidden_.resize(rows_.size() * static_cast<size_t>(batch.run->policy->config.hidden));  // [rows, hidden]
  absl::Status status;
  if (!rows_.empty()) status = batch.run->decoder->Forward(rows_, hidden_.data());
  FindWanted(batch.feeds);
  if (status.ok()) status = ComputeWanted(*batch.run);
  if (!status.ok()) return EndGroupsOf(batch.feeds, status);
  for (Feed& feed : batch.feeds) {
    feed.stream->cached += feed.count;
    streams_.KeepPrefix(*feed.stream);
  }
  SLUICE_FAIL_POINT("rollout.step_computed");
  ApplyWanted();
}

void Batcher::EndGroupsOf(const std::vector<Feed>& feeds, const absl::Status& status) {
  std::map<uint64_t, std::shared_ptr<RolloutGroup>> groups;  // kept here: EndGroup frees the streams
  for (const Feed& feed : feeds) groups[feed.age.first] = feed.stream->group;
  for (const auto& [ordinal, group] : groups) EndGroup(group, status);
}

void Batcher::FindWanted(std::vector<Feed>& feeds) {
  wanted_.clear();
  int64_t row = 0;
  for (Feed& feed : feeds) {
    const Stream& stream = *feed.stream;
    if (stream.kind == StreamKind::kScore) {
      for (int64_t i = 0; i < feed.count; ++i) wanted_.push_back({&feed, row + i, stream.cached + i});
      // Nothing to score in a single token: one entry that only ends the stream.
      if (stream.known.empty()) wanted_.push_back({&feed, -1, -1});
    } else if (stream.remaining() == feed.count) {
      wanted_.push_back({&feed, row + feed.count - 1, stream.cached + feed.count - 1});
    }
    row += feed.count;
  }
}

// Logits in portions of bounded memory, but as many rows at once as that allows: each portion reads the whole
// head.
absl::Status Batcher::ComputeWanted(PolicyRun& run) {
  constexpr size_t kPortionBytes = size_t{48} << 20;
  const size_t hidden = static_cast<size_t>(run.policy->config.hidden);
  const size_t vocab = static_cast<size_t>(run.policy->config.vocab);
  const size_t portion = std::max<size_t>(kPortionBytes / (vocab * sizeof(float)), 16);
  for (size_t begin = 0; begin < wanted_.size(); begin += portion) {
    const size_t count = std::min(portion, wanted_.size() - begin);
    picked_.assign(count * hidden, 0.0f);  // [count, hidden]
    logits_.resize(count * vocab);         // [count, vocab]
    for (size_t i = 0; i < count; ++i) {
      const int64_t row = wanted_[begin + i].row;
      if (row >= 0) {
        std::copy_n(hidden_.data() + static_cast<size_t>(row) * hidden, hidden, picked_.data() + i * hidden);
      }
    }
    SLUICE_RETURN_IF_ERROR(run.decoder->Logits(picked_.data(), static_cast<int64_t>(count), logits_.data()));
    pool_.ParallelFor(static_cast<int64_t>(count), [&](int64_t i) {
      WantedRow& row = wanted_[begin + static_cast<size_t>(i)];
      if (row.row >= 0) ComputeRow(logits_.data() + static_cast<size_t>(i) * vocab, row);
    });
  }
  return absl::OkStatus();
}

void Batcher::ComputeRow(const float* logits, WantedRow& wanted) const {
  Stream& stream = *wanted.feed->stream;
  const int64_t vocab = stream.group->run->policy->config.vocab;
  const absl::Span<const float> row(logits, static_cast<size_t>(vocab));
  if (stream.kind == StreamKind::kPrompt) {
    stream.logits.assign(row.begin(), row.end());
  } else if (stream.kind == StreamKind::kMember) {
    wanted.result = stream.completion->Sample(row);
  } else {
    const int32_t target = stream.group->request.prompt_tokens[static_cast<size_t>(wanted.position) + 1];
    wanted.result = SampledToken{target, kernels::LogSoftmaxAt(logits, vocab, target, 1.0f, nullptr), 0, {}};
    if (!std::isfinite(wanted.result->raw_logprob)) {
      wanted.result = absl::InternalError("the logits are not finite: the policy's weights are not usable");
    }
  }
}

void Batcher::ApplyWanted() {
  std::vector<std::pair<std::shared_ptr<RolloutGroup>, absl::Status>> ended;
  for (WantedRow& row : wanted_) {
    Stream& stream = *row.feed->stream;
    if (!row.result.ok()) {
      ended.emplace_back(stream.group, row.result.status());
    } else if (stream.kind == StreamKind::kScore) {
      if (row.row >= 0) stream.group->scores.push_back(row.result->raw_logprob);
      if (stream.group->scores.size() == stream.known.size()) {
        ended.emplace_back(stream.group, absl::OkStatus());
      }
    } else if (stream.kind == StreamKind::kMember && AddToken(stream, *row.result)) {
      if (stream.group->unfinished == 0) ended.emplace_back(stream.group, absl::OkStatus());
      streams_.running().erase(row.feed->age);  // its blocks are free at once
    }
  }
  for (auto& [group, status] : ended) {
    if (groups_.count(group->ordinal) > 0) EndGroup(group, std::move(status));
  }
}

bool Batcher::AddToken(Stream& member, const SampledToken& sampled) {
  Completion& completion = *member.completion;
  completion.Add(sampled, *member.group->run->policy, options_.backend->kernel_path());
  member.known.push_back(sampled.token);
  metrics_.tokens_generated.Increment();
  SLUICE_FAIL_POINT("rollout.token_sampled");
  const absl::Time now = absl::Now();
  if (completion.last_token_time == absl::InfinitePast()) {
    metrics_.first_token_seconds.Observe(absl::ToDoubleSeconds(now - member.group->arrival));
  } else {
    metrics_.token_seconds.Observe(absl::ToDoubleSeconds(now - completion.last_token_time));
  }
  completion.last_token_time = now;
  const bool ended = completion.finish_reason() != FinishReason::kUnspecified;
  if (ended || completion.progress_due()) HandOver(member);
  return ended;
}

// What is to be reported of a completion, the whole of it when it has ended.
void Batcher::HandOver(Stream& member) {
  RolloutGroup& group = *member.group;
  SLUICE_FAIL_POINT("rollout.completion_ended");
  Trajectory out = member.completion->Report();
  out.worker = options_.worker;
  if (const int64_t width = member.RoutedWidth(); width > 0) {
    const MoeConfig& moe = group.run->policy->config.moe;
    // Of a begun completion that had ended there is nothing to compute.
    const size_t per_row = static_cast<size_t>(width), first = FirstToken(out);
    const size_t end = std::min(per_row * (member.known.size() - 1), member.experts.size());
    const size_t begin =
        first == 0 ? 0 : std::min(end, per_row * (group.request.prompt_tokens.size() + first - 1));
    out.experts = {static_cast<int32_t>(width) / moe.experts_per_token,
                   moe.experts_per_token,
                   {member.experts.begin() + static_cast<int64_t>(begin),
                    member.experts.begin() + static_cast<int64_t>(end)}};
  }
  if (out.finish_reason != FinishReason::kUnspecified) {
    metrics_.CountRollout(out.finish_reason);
    --group.unfinished;
  }
  group.HandOver(std::move(out));
}

// ---- Prompts shared by a group ----

std::unique_ptr<Stream> Batcher::NewMember(const Stream& prompt, size_t place) {
  auto member = std::make_unique<Stream>();
  member->kind = StreamKind::kMember;
  member->group = prompt.group;
  member->completion = std::make_unique<Completion>(prompt.group->request, place, *prompt.group->run->policy);
  member->known = prompt.known;
  return member;
}

bool Batcher::HasRunningMember(const RolloutGroup& group) {
  const auto it = streams_.running().lower_bound({group.ordinal, 0});
  return it != streams_.running().end() && it->first.first == group.ordinal &&
         it->first.second != kPromptPlace;
}

void Batcher::ForkPrompts() {
  Streams& running = streams_.running();
  for (auto it = running.begin(); it != running.end();) {
    it = it->second->logits.empty() ? std::next(it) : ForkPrompt(it);
  }
}

// Starts as many members of a computed prompt as there are places and blocks for. The last member takes the
// prompt's cache over. So does the first where the blocks do not suffice for two: the others wait and compute
// the prompt again.
Streams::iterator Batcher::ForkPrompt(Streams::iterator it) {
  Streams& running = streams_.running();
  Stream& prompt = *it->second;
  const std::shared_ptr<RolloutGroup> group = prompt.group;
  while (!prompt.pending.empty()) {
    if (running_sequences() >= options_.max_running_sequences) return std::next(it);
    const size_t place = prompt.pending.front();
    SLUICE_FAIL_POINT("rollout.prompt_computed");
    std::unique_ptr<Stream> member = NewMember(prompt, place);
    const absl::StatusOr<SampledToken> sampled = member->completion->Sample(prompt.logits);
    if (!sampled.ok()) {
      const Age age = it->first;
      EndGroup(group, sampled.status());
      return running.upper_bound(age);
    }
    const bool last = prompt.pending.size() == 1;
    bool moved = last || !options_.share_prefixes;
    member->cache = std::make_unique<SequenceCache>(streams_.blocks(), group->run->cache_shape());
    if (!moved && !member->cache->Fork(*prompt.cache, prompt.cached)) {
      if (HasRunningMember(*group)) return std::next(it);  // its end makes room
      moved = true;
    }
    member->cached = prompt.cached;
    member->chained = prompt.chained;
    member->node = prompt.node;
    member->experts = prompt.experts;
    prompt.pending.erase(prompt.pending.begin());
    const bool ended = AddToken(*member, *sampled);
    if (moved && !ended) {
      std::swap(member->cache, prompt.cache);
      if (!last) {
        streams_.Reset(prompt);
        const auto next = std::next(it);
        streams_.waiting().insert(running.extract(it));
        running[{group->ordinal, place}] = std::move(member);
        return next;
      }
    }
    if (!ended) running[{group->ordinal, place}] = std::move(member);
  }
  const auto next = running.erase(it);
  if (group->unfinished == 0) {
    EndGroup(group, absl::OkStatus());
    return running.upper_bound({group->ordinal, kPromptPlace});
  }
  return next;
}

}  // namespace sluice
