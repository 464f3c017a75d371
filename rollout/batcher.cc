#include "rollout/batcher.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/kernels/kernels.h"
#include "rollout/request_check.h"

namespace sluice {

Batcher::Batcher(BatcherOptions options, ThreadPool& pool, Clock& clock, EngineMetrics& metrics,
                 std::function<std::shared_ptr<PolicyRun>()> served)
    : options_(std::move(options)),
      pool_(pool),
      clock_(clock),
      metrics_(metrics),
      served_(std::move(served)),
      blocks_(options_.backend, options_.cache_bytes) {}

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
  waiting_[{group->ordinal, kPromptPlace}] = std::move(stream);
  groups_[group->ordinal] = std::move(group);
}

void Batcher::Step() {
  EndExpired();
  Admit();
  for (auto& [run, feeds] : BuildBatches()) RunBatch(*run, feeds);
  ForkPrompts();
  UpdateGauges();
}

void Batcher::EndExpired() {
  const absl::Time now = clock_.Now();
  std::vector<std::pair<std::shared_ptr<RolloutGroup>, absl::Status>> ended;
  for (const auto& [ordinal, group] : groups_) {
    if (group->cancel.cancelled()) {
      ended.emplace_back(group, absl::CancelledError("the caller cancelled"));
    } else if (now > group->request.deadline) {
      ended.emplace_back(group, absl::DeadlineExceededError(absl::StrCat("sampling: ", group->unfinished,
                                                                         " of ", group->sequences(),
                                                                         " completions were not finished")));
    }
  }
  for (auto& [group, status] : ended) EndGroup(group, std::move(status));
}

void Batcher::EndGroup(const std::shared_ptr<RolloutGroup>& group, absl::Status status) {
  for (Streams* streams : {&running_, &waiting_}) {
    streams->erase(streams->lower_bound({group->ordinal, 0}),
                   streams->upper_bound({group->ordinal, kPromptPlace}));
  }
  if (group->kind == GroupKind::kSample) {
    for (size_t i = 0; i < group->unfinished; ++i) metrics_.CountRollout(FinishReason::kCancelled);
  }
  if (group->run != nullptr) group->version = group->run->policy->version;
  group->run = nullptr;
  const uint64_t ordinal = group->ordinal;
  ended_.emplace_back(group, std::move(status));
  groups_.erase(ordinal);  // `group` may live there
}

std::vector<std::pair<std::shared_ptr<RolloutGroup>, absl::Status>> Batcher::TakeEnded() {
  return std::exchange(ended_, {});
}

void Batcher::FailAll(const absl::Status& status) {
  while (!groups_.empty()) EndGroup(groups_.begin()->second, status);
  UpdateGauges();
}

absl::Status Batcher::Pin(RolloutGroup& group) {
  if (group.run != nullptr) return absl::OkStatus();
  std::shared_ptr<PolicyRun> run = served_();
  if (run == nullptr || run->policy->job != group.request.job) {
    return absl::FailedPreconditionError(
        absl::StrCat("no policy of job \"", group.request.job, "\" is loaded"));
  }
  const int64_t given = static_cast<int64_t>(group.request.prompt_tokens.size());
  int64_t positions = given - 1;
  if (group.kind == GroupKind::kSample) {
    SLUICE_RETURN_IF_ERROR(CheckRolloutRequest(group.request, *run->policy));
    positions += group.request.sampling.max_new_tokens;  // the last token is never fed
  } else {
    SLUICE_RETURN_IF_ERROR(CheckPromptTokens(group.request.prompt_tokens, 0, *run->policy));
  }
  const int64_t bytes = BlocksFor(positions) * run->block_bytes();
  if (bytes > options_.cache_bytes) {
    return absl::InvalidArgumentError(absl::StrCat("a sequence of ", positions, " positions takes ", bytes,
                                                   " bytes of cache; the worker's limit is ",
                                                   options_.cache_bytes));
  }
  group.run = std::move(run);
  return absl::OkStatus();
}

size_t Batcher::Weight(const Stream& stream) const {
  return stream.kind == StreamKind::kPrompt ? stream.pending.size() : 1;
}

void Batcher::Admit() {
  size_t taken = 0;
  for (const auto& [age, stream] : running_) taken += Weight(*stream);
  while (!waiting_.empty() && taken < static_cast<size_t>(options_.max_running_sequences)) {
    const auto it = waiting_.begin();
    Stream& stream = *it->second;
    const std::shared_ptr<RolloutGroup> group = stream.group;
    if (absl::Status status = Pin(*group); !status.ok()) {
      EndGroup(group, std::move(status));
      continue;
    }
    if (stream.cache == nullptr) {
      stream.cache = std::make_unique<SequenceCache>(&blocks_, group->run->cache_shape());
    }
    // A place is never taken from a running stream for a waiting one.
    if (!stream.cache->Reserve(static_cast<int64_t>(stream.known.size()))) {
      if (!running_.empty()) return;
      // Within the limit (Pin), and nothing holds a block: the device itself has no memory left.
      EndGroup(group, absl::ResourceExhaustedError(absl::StrCat(
                          "the device has no memory left for a sequence of ", stream.known.size(),
                          " positions; give the worker fewer cache bytes or a smaller model")));
      continue;
    }
    taken += Weight(stream);
    running_.insert(waiting_.extract(it));
  }
}

bool Batcher::MakeRoom(Streams::iterator it, int64_t positions) {
  while (!it->second->cache->Reserve(positions)) {
    const auto youngest = std::prev(running_.end());
    if (youngest == it) return false;
    Preempt(youngest);
  }
  return true;
}

void Batcher::ResetCache(Stream& stream) {
  stream.cache->Clear();
  stream.cached = 0;
  stream.logits.clear();
  if (stream.kind == StreamKind::kScore) stream.group->scores.clear();
}

void Batcher::Preempt(Streams::iterator it) {
  ResetCache(*it->second);
  waiting_.insert(running_.extract(it));
  metrics_.preemptions.Increment();
}

std::vector<std::pair<PolicyRun*, std::vector<Batcher::Feed>>> Batcher::BuildBatches() {
  std::vector<std::pair<PolicyRun*, std::vector<Feed>>> out;
  int64_t budget = options_.prefill_chunk_tokens;
  for (auto it = running_.begin(); it != running_.end();) {
    Stream& stream = *it->second;
    const auto here = it++;
    const bool decodes = stream.kind == StreamKind::kMember && stream.remaining() == 1;
    const int64_t count = decodes ? 1 : std::min(stream.remaining(), budget);
    if (count == 0 && stream.kind != StreamKind::kScore) continue;
    if (count == 0 && stream.remaining() > 0) continue;
    if (!MakeRoom(here, stream.cached + count)) {
      Preempt(here);  // the youngest of all: what follows `here` is nothing
      break;
    }
    it = std::next(here);  // the one after may have been preempted
    if (!decodes) budget -= count;
    PolicyRun* run = stream.group->run.get();
    auto batch = std::find_if(out.begin(), out.end(), [&](const auto& b) { return b.first == run; });
    if (batch == out.end()) batch = out.insert(out.end(), {run, {}});
    batch->second.push_back({here->first, &stream, count});
  }
  return out;
}

void Batcher::RunBatch(PolicyRun& run, std::vector<Feed>& feeds) {
  // Keeps the policy alive while its last group may end.
  const std::shared_ptr<PolicyRun> pin = feeds.front().stream->group->run;
  std::vector<DecoderRow> rows;
  for (const Feed& feed : feeds) {
    const Stream& stream = *feed.stream;
    for (int64_t p = stream.cached; p < stream.cached + feed.count; ++p) {
      rows.push_back({stream.known[static_cast<size_t>(p)], static_cast<int32_t>(p), stream.cache->table()});
    }
    const int64_t given = static_cast<int64_t>(stream.group->request.prompt_tokens.size());
    const int64_t prefilled = feed.count == 1 && stream.cached >= given ? 0 : feed.count;
    if (prefilled > 0) metrics_.prompt_tokens.Increment(static_cast<double>(prefilled));
  }
  const size_t hidden = static_cast<size_t>(run.policy->config.hidden);
  hidden_.resize(rows.size() * hidden);  // [rows, hidden]
  absl::Status status;
  if (!rows.empty()) status = run.decoder->Forward(rows, hidden_.data());
  std::vector<WantedRow> wanted = WantedRows(feeds);
  if (status.ok()) status = ComputeRows(run, wanted);
  if (!status.ok()) return EndGroupsOf(feeds, status);
  for (Feed& feed : feeds) feed.stream->cached += feed.count;
  ApplyRows(wanted);
}

void Batcher::EndGroupsOf(const std::vector<Feed>& feeds, const absl::Status& status) {
  std::map<uint64_t, std::shared_ptr<RolloutGroup>> groups;  // kept here: EndGroup frees the streams
  for (const Feed& feed : feeds) groups[feed.age.first] = feed.stream->group;
  for (const auto& [ordinal, group] : groups) EndGroup(group, status);
}

std::vector<Batcher::WantedRow> Batcher::WantedRows(std::vector<Feed>& feeds) const {
  std::vector<WantedRow> out;
  int64_t row = 0;
  for (Feed& feed : feeds) {
    const Stream& stream = *feed.stream;
    if (stream.kind == StreamKind::kScore) {
      for (int64_t i = 0; i < feed.count; ++i) out.push_back({&feed, row + i, stream.cached + i});
      // Nothing to score in a single token: one entry that only ends the stream.
      if (stream.known.empty()) out.push_back({&feed, -1, -1});
    } else if (stream.remaining() == feed.count) {
      out.push_back({&feed, row + feed.count - 1, stream.cached + feed.count - 1});
    }
    row += feed.count;
  }
  return out;
}

// Logits in portions, so that their memory stays small whatever the batch.
absl::Status Batcher::ComputeRows(PolicyRun& run, std::vector<WantedRow>& wanted) {
  constexpr size_t kPortion = 32;
  const size_t hidden = static_cast<size_t>(run.policy->config.hidden);
  const size_t vocab = static_cast<size_t>(run.policy->config.vocab);
  for (size_t begin = 0; begin < wanted.size(); begin += kPortion) {
    const size_t count = std::min(kPortion, wanted.size() - begin);
    picked_.assign(count * hidden, 0.0f);  // [count, hidden]
    logits_.resize(count * vocab);         // [count, vocab]
    for (size_t i = 0; i < count; ++i) {
      const int64_t row = wanted[begin + i].row;
      if (row >= 0) {
        std::copy_n(hidden_.data() + static_cast<size_t>(row) * hidden, hidden, picked_.data() + i * hidden);
      }
    }
    SLUICE_RETURN_IF_ERROR(run.decoder->Logits(picked_.data(), static_cast<int64_t>(count), logits_.data()));
    pool_.ParallelFor(static_cast<int64_t>(count), [&](int64_t i) {
      WantedRow& row = wanted[begin + static_cast<size_t>(i)];
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
    wanted.result = Sample(stream, row);
  } else {
    const int32_t target = stream.group->request.prompt_tokens[static_cast<size_t>(wanted.position) + 1];
    wanted.result = SampledToken{target, kernels::LogSoftmaxAt(logits, vocab, target, 1.0f, nullptr), 0};
    if (!std::isfinite(wanted.result->raw_logprob)) {
      wanted.result = absl::InternalError("the logits are not finite: the policy's weights are not usable");
    }
  }
}

void Batcher::ApplyRows(std::vector<WantedRow>& wanted) {
  std::vector<std::pair<std::shared_ptr<RolloutGroup>, absl::Status>> ended;
  std::vector<Age> finished;
  for (WantedRow& row : wanted) {
    Stream& stream = *row.feed->stream;
    if (!row.result.ok()) {
      ended.emplace_back(stream.group, row.result.status());
    } else if (stream.kind == StreamKind::kScore) {
      if (row.row >= 0) stream.group->scores.push_back(row.result->raw_logprob);
      if (stream.group->scores.size() == stream.known.size())
        ended.emplace_back(stream.group, absl::OkStatus());
    } else if (stream.kind == StreamKind::kMember && AddToken(stream, *row.result)) {
      finished.push_back(row.feed->age);
      if (stream.group->unfinished == 0) ended.emplace_back(stream.group, absl::OkStatus());
    }
  }
  for (const Age& age : finished) running_.erase(age);
  for (auto& [group, status] : ended) {
    if (groups_.count(group->ordinal) > 0) EndGroup(group, std::move(status));
  }
}

absl::StatusOr<SampledToken> Batcher::Sample(const Stream& member, absl::Span<const float> logits) const {
  const RolloutRequest& request = member.group->request;
  const float uniform = UniformAt(request.seed, request.domain, request.draw, request.indices[member.place],
                                  static_cast<uint32_t>(member.raw_logprobs.size()));
  return SampleToken(logits, request.sampling, uniform);
}

bool Batcher::AddToken(Stream& member, const SampledToken& sampled) {
  const SamplingParams& params = member.group->request.sampling;
  const std::vector<int32_t>& eos = member.group->run->policy->config.eos_token_ids;
  member.known.push_back(sampled.token);
  member.raw_logprobs.push_back(sampled.raw_logprob);
  member.processed_logprobs.push_back(sampled.processed_logprob);
  metrics_.tokens_generated.Increment();
  const auto contains = [&](const std::vector<int32_t>& ids) {
    return std::find(ids.begin(), ids.end(), sampled.token) != ids.end();
  };
  const bool stop_text = member.text->Append(sampled.token);
  const bool stop_token = contains(params.stop_token_ids) || (!params.ignore_eos && contains(eos));
  if (stop_token || stop_text) {
    HandOver(member, FinishReason::kStop, stop_token);
  } else if (member.raw_logprobs.size() == static_cast<size_t>(params.max_new_tokens)) {
    HandOver(member, FinishReason::kLength, false);
  } else {
    return false;
  }
  return true;
}

void Batcher::HandOver(Stream& member, FinishReason reason, bool drop_last_from_text) {
  RolloutGroup& group = *member.group;
  const LoadedPolicy& policy = *group.run->policy;
  Trajectory out;
  out.key = {group.request.draw, group.request.indices[member.place]};
  out.tokens.assign(member.known.begin() + static_cast<int64_t>(group.request.prompt_tokens.size()),
                    member.known.end());
  out.raw_logprobs = std::move(member.raw_logprobs);
  out.processed_logprobs = std::move(member.processed_logprobs);
  out.spans = {{0, static_cast<int32_t>(out.tokens.size()), policy.version, policy.manifest_hash,
                options_.backend->kernel_path()}};
  out.finish_reason = reason;
  out.text = member.text->Text(drop_last_from_text);
  out.worker = options_.worker;
  out.attempt = group.request.attempt;
  metrics_.CountRollout(reason);
  --group.unfinished;
  group.HandOver(std::move(out));
}

std::unique_ptr<Batcher::Stream> Batcher::NewMember(const Stream& prompt, size_t place) {
  auto member = std::make_unique<Stream>();
  member->kind = StreamKind::kMember;
  member->group = prompt.group;
  member->place = place;
  member->known = prompt.known;
  member->cached = prompt.cached;
  member->cache = std::make_unique<SequenceCache>(&blocks_, prompt.group->run->cache_shape());
  member->text = std::make_unique<CompletionText>(prompt.group->run->policy->tokenizer.get(),
                                                  &prompt.group->request.sampling.stop);
  return member;
}

bool Batcher::HasRunningMember(const RolloutGroup& group) const {
  const auto it = running_.lower_bound({group.ordinal, 0});
  return it != running_.end() && it->first.first == group.ordinal && it->first.second != kPromptPlace;
}

void Batcher::ForkPrompts() {
  for (auto it = running_.begin(); it != running_.end();) {
    it = it->second->logits.empty() ? std::next(it) : ForkPrompt(it);
  }
}

// Starts as many members of a computed prompt as there are places and blocks for. The last member takes the
// prompt's cache over. So does the first where the blocks do not suffice for two: the others wait and compute
// the prompt again.
Batcher::Streams::iterator Batcher::ForkPrompt(Streams::iterator it) {
  Stream& prompt = *it->second;
  const std::shared_ptr<RolloutGroup> group = prompt.group;
  while (!prompt.pending.empty()) {
    if (running_sequences() >= options_.max_running_sequences) return std::next(it);
    const size_t place = prompt.pending.front();
    std::unique_ptr<Stream> member = NewMember(prompt, place);
    const absl::StatusOr<SampledToken> sampled = Sample(*member, prompt.logits);
    if (!sampled.ok()) {
      const Age age = it->first;
      EndGroup(group, sampled.status());
      return running_.upper_bound(age);
    }
    const bool last = prompt.pending.size() == 1;
    bool moved = last || !options_.share_prefixes;
    if (!moved && !member->cache->Fork(*prompt.cache, prompt.cached)) {
      if (HasRunningMember(*group)) return std::next(it);  // its end makes room
      moved = true;
    }
    prompt.pending.erase(prompt.pending.begin());
    const bool ended = AddToken(*member, *sampled);
    if (moved && !ended) {
      std::swap(member->cache, prompt.cache);
      if (!last) {
        ResetCache(prompt);
        const auto next = std::next(it);
        waiting_.insert(running_.extract(it));
        running_[{group->ordinal, place}] = std::move(member);
        return next;
      }
    }
    if (!ended) running_[{group->ordinal, place}] = std::move(member);
  }
  const auto next = running_.erase(it);
  if (group->unfinished == 0) {
    EndGroup(group, absl::OkStatus());
    return running_.upper_bound({group->ordinal, kPromptPlace});
  }
  return next;
}

int32_t Batcher::running_sequences() const {
  return static_cast<int32_t>(std::count_if(running_.begin(), running_.end(), [](const auto& entry) {
    return entry.second->kind != StreamKind::kPrompt;
  }));
}

int32_t Batcher::queued_sequences() const {
  size_t out = 0;
  for (const auto& [age, stream] : waiting_) out += Weight(*stream);
  for (const auto& [age, stream] : running_) out += stream->kind == StreamKind::kPrompt ? Weight(*stream) : 0;
  return static_cast<int32_t>(out);
}

void Batcher::UpdateGauges() {
  metrics_.sequences_running.Set(running_sequences());
  metrics_.sequences_queued.Set(queued_sequences());
  metrics_.cache_blocks_used.Set(static_cast<double>(blocks_.used_blocks()));
}

}  // namespace sluice
