#include "services/wire/group_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "services/wire/field_check.h"
#include "services/wire/types.h"

namespace sluice {
namespace {

// On the wire, at most.
constexpr int64_t kTokenBytes = 5, kLogprobBytes = 4, kExpertBytes = 2;
constexpr int64_t kSpanBytes = 4;      // of a span besides what it says
constexpr int64_t kSampleBytes = 128;  // of a sample's piece besides its arrays and its worker's name

// How many elements from `sent` on have room, which is taken.
size_t Fitting(size_t size, size_t sent, int64_t each, int64_t& room) {
  const auto count = std::min(static_cast<int64_t>(size - sent), std::max<int64_t>(0, room) / each);
  room -= count * each;
  return static_cast<size_t>(count);
}

template <typename T, typename Field>
void AppendSome(const std::vector<T>& from, int64_t each, size_t& sent, int64_t& room, Field& to) {
  const auto begin = from.begin() + static_cast<ptrdiff_t>(sent);
  const size_t count = Fitting(from.size(), sent, each, room);
  to.Add(begin, begin + static_cast<ptrdiff_t>(count));
  sent += count;
}

// All but the arrays.
v1::Trajectory Shell(const Trajectory& trajectory) {
  Trajectory shell;
  shell.key = trajectory.key;
  shell.finish_reason = trajectory.finish_reason;
  shell.worker = trajectory.worker;
  shell.attempt = trajectory.attempt;
  v1::Trajectory out = ToProto(shell);
  if (trajectory.experts.ids.empty()) return out;
  out.mutable_experts()->set_moe_layers(trajectory.experts.moe_layers);
  out.mutable_experts()->set_per_token(trajectory.experts.per_token);
  return out;
}

void AppendPiece(v1::Trajectory&& piece, v1::Trajectory& to) {
  to.mutable_tokens()->MergeFrom(piece.tokens());
  to.mutable_raw_logprobs()->MergeFrom(piece.raw_logprobs());
  to.mutable_processed_logprobs()->MergeFrom(piece.processed_logprobs());
  to.mutable_spans()->MergeFrom(piece.spans());
  if (!piece.experts().ids().empty()) to.mutable_experts()->mutable_ids()->append(piece.experts().ids());
}

absl::StatusOr<ScoredSample> SampleFromProto(const v1::TrainingSample& proto) {
  FieldCheck check;
  check.Finite(proto.advantage(), "advantage");
  check.Finite(proto.reward(), "reward");
  SLUICE_RETURN_IF_ERROR(check.status());
  ScoredSample out;
  absl::StatusOr<Trajectory> trajectory = FromProto(proto.trajectory());
  if (!trajectory.ok()) return Within("trajectory", trajectory.status());
  out.trajectory = *std::move(trajectory);
  out.advantage = proto.advantage();
  out.verdict.kind = VerdictKind::kGraded;
  out.verdict.value = proto.reward();
  return out;
}

}  // namespace

int64_t StreamedBytes(const Group& group) {
  auto bytes = static_cast<int64_t>(group.prompt.tokens.size()) * kTokenBytes;
  for (const ScoredSample& sample : group.samples) {
    if (!sample.verdict.HasReward()) continue;
    const Trajectory& t = sample.trajectory;
    bytes += kSampleBytes + static_cast<int64_t>(t.tokens.size()) * (kTokenBytes + 2 * kLogprobBytes) +
             static_cast<int64_t>(t.experts.ids.size()) * kExpertBytes;
  }
  return bytes;
}

void GroupPieces::SkipUnrewarded() {
  while (sample_ < group_.samples.size() && !group_.samples[sample_].verdict.HasReward()) ++sample_;
}

bool GroupPieces::AllSent(const Trajectory& t) const {
  return sent_.tokens == t.tokens.size() && sent_.raw_logprobs == t.raw_logprobs.size() &&
         sent_.processed_logprobs == t.processed_logprobs.size() && sent_.spans == t.spans.size() &&
         sent_.experts == t.experts.ids.size();
}

void GroupPieces::Fill(const ScoredSample& sample, int64_t& room, v1::TrainingSample& out) {
  const Trajectory& from = sample.trajectory;
  v1::Trajectory& to = *out.mutable_trajectory();
  room -= kSampleBytes;
  if (!std::exchange(sent_.begun, true)) {
    out.set_advantage(sample.advantage);
    out.set_reward(sample.verdict.value);
    to = Shell(from);
    room -= static_cast<int64_t>(from.worker.size());
  } else {
    to.mutable_key()->set_draw(from.key.draw);
    to.mutable_key()->set_index(from.key.index);
  }
  AppendSome(from.tokens, kTokenBytes, sent_.tokens, room, *to.mutable_tokens());
  AppendSome(from.raw_logprobs, kLogprobBytes, sent_.raw_logprobs, room, *to.mutable_raw_logprobs());
  AppendSome(from.processed_logprobs, kLogprobBytes, sent_.processed_logprobs, room,
             *to.mutable_processed_logprobs());
  for (; sent_.spans < from.spans.size() && room > 0; ++sent_.spans) {
    v1::VersionSpan* span = to.add_spans();
    *span = ToProto(from.spans[sent_.spans]);
    room -= static_cast<int64_t>(span->ByteSizeLong()) + kSpanBytes;
  }
  const std::vector<uint16_t>& ids = from.experts.ids;
  if (const size_t count = Fitting(ids.size(), sent_.experts, kExpertBytes, room); count > 0) {
    AppendExpertIds(absl::MakeSpan(ids).subspan(sent_.experts, count), *to.mutable_experts()->mutable_ids());
    sent_.experts += count;
  }
}

bool GroupPieces::Next(v1::AddGroupRequest& piece) {
  if (ended_) return false;
  piece.Clear();
  int64_t room = kGroupPieceBytes;
  if (!std::exchange(begun_, true)) {
    piece.set_job(job_);
    piece.set_policy_version(version_);
    piece.set_draw(group_.draw);
    piece.set_coordinator_epoch(coordinator_epoch_);
  }
  AppendSome(group_.prompt.tokens, kTokenBytes, prompt_sent_, room, *piece.mutable_prompt_tokens());
  SkipUnrewarded();
  while (room > 0 && sample_ < group_.samples.size()) {
    const ScoredSample& sample = group_.samples[sample_];
    Fill(sample, room, *piece.add_samples());
    if (!AllSent(sample.trajectory)) break;
    sent_ = {};
    ++sample_;
    SkipUnrewarded();
  }
  ended_ = prompt_sent_ == group_.prompt.tokens.size() && sample_ == group_.samples.size();
  piece.set_last(ended_);
  return true;
}

absl::Status GroupAssembly::Begin(const v1::AddGroupRequest& piece) {
  FieldCheck check;
  check.Name(piece.job(), "job");
  check.NotNegative(piece.policy_version(), "policy_version");
  SLUICE_RETURN_IF_ERROR(check.status());
  out_.job = piece.job();
  out_.version = piece.policy_version();
  out_.coordinator_epoch = piece.coordinator_epoch();
  out_.group.draw = piece.draw();
  begun_ = true;
  return absl::OkStatus();
}

absl::Status GroupAssembly::CloseSample() {
  if (!open_) return absl::OkStatus();
  const size_t place = out_.group.samples.size();
  const v1::TrainingSample proto = *std::exchange(open_, std::nullopt);
  const std::string field = absl::StrCat("samples[", place, "]");
  FieldCheck check;
  check.Require(place < kMaxGroupMembers, "samples", absl::StrCat("more than ", kMaxGroupMembers));
  check.Require(proto.trajectory().key().draw() == out_.group.draw, field + ".trajectory.key.draw",
                "must be the group's draw");
  check.Require(indices_.insert(proto.trajectory().key().index()).second, field + ".trajectory.key.index",
                "is there twice");
  SLUICE_RETURN_IF_ERROR(check.status());
  absl::StatusOr<ScoredSample> sample = SampleFromProto(proto);
  if (!sample.ok()) return Within(field, sample.status());
  out_.group.samples.push_back(*std::move(sample));
  return absl::OkStatus();
}

absl::Status GroupAssembly::Add(v1::AddGroupRequest piece) {
  if (ended_) return absl::InvalidArgumentError("last: a piece follows the last one");
  if (!begun_) SLUICE_RETURN_IF_ERROR(Begin(piece));
  bytes_ += static_cast<int64_t>(piece.ByteSizeLong());
  if (bytes_ > max_bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("group ", out_.group.draw, " has more than ", max_bytes_,
                     " bytes; lower sampling.group_size or max_new_tokens, or leave record_experts out"));
  }
  std::vector<int32_t>& prompt = out_.group.prompt.tokens;
  FieldCheck check;
  check.TokenIds(piece.prompt_tokens(), kMaxTokens - prompt.size(), "prompt_tokens");
  SLUICE_RETURN_IF_ERROR(check.status());
  prompt.insert(prompt.end(), piece.prompt_tokens().begin(), piece.prompt_tokens().end());
  for (v1::TrainingSample& sample : *piece.mutable_samples()) {
    const v1::SampleKey& key = sample.trajectory().key();
    if (open_ && open_->trajectory().key().index() == key.index() &&
        open_->trajectory().key().draw() == key.draw()) {
      AppendPiece(std::move(*sample.mutable_trajectory()), *open_->mutable_trajectory());
      continue;
    }
    SLUICE_RETURN_IF_ERROR(CloseSample());
    open_ = std::move(sample);
  }
  ended_ = piece.last();
  return ended_ ? CloseSample() : absl::OkStatus();
}

absl::StatusOr<GroupForVersion> GroupAssembly::Finish() && {
  if (!ended_) return absl::InvalidArgumentError("last: the stream ended before the group did");
  FieldCheck check;
  check.Require(!out_.group.prompt.tokens.empty(), "prompt_tokens", "at least one is needed");
  SLUICE_RETURN_IF_ERROR(check.status());
  return std::move(out_);
}

}  // namespace sluice
