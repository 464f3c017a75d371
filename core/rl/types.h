// The nouns of post-training (docs/glossary.md) as plain values. Protos are turned into these at the edge
// (services/wire), which validates them; inside, they are passed by value or const reference and not changed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/random.h"

namespace sluice {

using JobId = std::string;

// A never-reused number of one job's policies. Version v is the exact published tensors of its manifest.
using PolicyVersion = int64_t;
constexpr PolicyVersion kNoPolicyVersion = -1;

// Number of a prompt handed out; the same prompt in the next epoch is a new draw.
using Draw = uint64_t;

// Names a sample within a job.
struct SampleKey {
  Draw draw = 0;
  uint32_t index = 0;  // in the group
  friend auto operator<=>(const SampleKey&, const SampleKey&) = default;
};

// One prompt with what its reward needs: `fields` holds the row's other string members ("answer", "kind",
// ...).
struct Prompt {
  std::string uid;
  std::string text;             // as written, or the rendered chat
  std::vector<int32_t> tokens;  // what the model is given
  std::map<std::string, std::string> fields;
};

// How a completion is sampled. temperature 0 is greedy. top_k 0, top_p 1, min_p 0, repetition_penalty 1 and
// the other penalties 0 are off. Order: logit_bias, penalties, min_new_tokens, temperature, top-k, top-p,
// min-p.
struct SamplingParams {
  float temperature = 1.0f;
  int32_t top_k = 0;
  float top_p = 1.0f;
  float min_p = 0.0f;  // drops tokens less probable than this share of the most probable one
  float repetition_penalty =
      1.0f;  // of tokens in prompt or completion: logit / penalty if positive, else times
  float presence_penalty = 0.0f;   // subtracted from tokens that are in the completion
  float frequency_penalty = 0.0f;  // subtracted once for each time
  std::map<int32_t, float> logit_bias;
  int32_t max_new_tokens = 128;
  // Until then neither end-of-sequence nor stop tokens are sampled, and stop texts are passed over.
  int32_t min_new_tokens = 0;
  int32_t top_logprobs = 0;             // alternatives reported for each token, at most 20
  bool record_experts = false;          // report the experts that each token was routed to
  std::vector<int32_t> stop_token_ids;  // besides the model's end-of-sequence tokens
  std::vector<std::string> stop;        // texts that end a completion; kept in the tokens, cut from the text
  bool ignore_eos = false;
  friend bool operator==(const SamplingParams&, const SamplingParams&) = default;
};

// What a new policy means for running sequences: they finish on the version that they started with, or go on
// with the new one, their caches computed again in chunks (the spans say from which token).
enum class SwapMode { kFinish, kContinue };

enum class FinishReason { kUnspecified, kStop, kLength, kCancelled };

// Tokens [begin, end) of a completion were sampled at `version`, whose manifest has this hash, on this kernel
// path.
struct VersionSpan {
  int32_t begin = 0, end = 0;
  PolicyVersion version = kNoPolicyVersion;
  std::string manifest_hash;
  std::string kernel_path;
  friend bool operator==(const VersionSpan&, const VersionSpan&) = default;
};

// A probable token in the place of a sampled one.
struct TokenAlternative {
  int32_t token = 0;
  float raw_logprob = 0;
  friend bool operator==(const TokenAlternative&, const TokenAlternative&) = default;
};

// The experts of the tokens that were fed to the model: the prompt and all of the completion but its last.
struct RoutedExperts {
  int32_t moe_layers = 0, per_token = 0;
  std::vector<uint16_t> ids;  // [fed tokens, moe_layers, per_token], by falling weight; empty: not recorded
  friend bool operator==(const RoutedExperts&, const RoutedExperts&) = default;
};

// One completion with what the learner needs to know of how it was sampled.
struct Trajectory {
  SampleKey key;
  std::vector<int32_t> tokens;  // the completion, a final stop token included
  // Natural log of the probability of each token: under the model at temperature 1 (raw), and under the
  // distribution sampled from, after all of SamplingParams (processed).
  std::vector<float> raw_logprobs, processed_logprobs;
  std::vector<VersionSpan> spans;              // in order, covering all tokens
  std::vector<TokenAlternative> alternatives;  // [tokens, top_logprobs], most probable first
  RoutedExperts experts;                       // when record_experts
  FinishReason finish_reason = FinishReason::kUnspecified;
  std::string text;  // decoded completion, stop texts cut off
  std::string worker;
  uint32_t attempt = 0;
};

enum class VerdictKind { kUnspecified, kCorrect, kWrong, kGraded, kUndecided, kInfrastructure };

// One test of a program.
struct TestResult {
  std::string outcome;       // as VerdictComponent::outcome
  double seconds = 0;        // wall-clock
  int64_t memory_bytes = 0;  // peak
  std::string detail;
  friend bool operator==(const TestResult&, const TestResult&) = default;
};

// What one step of a completion is worth, of a process reward.
struct StepScore {
  int64_t end_offset = 0;  // bytes of the completion
  double score = 0;
  friend bool operator==(const StepScore&, const StepScore&) = default;
};

struct VerdictComponent {
  std::string name;
  VerdictKind kind = VerdictKind::kUnspecified;
  double value = 0;     // of this component alone
  double weight = 0;    // in the sum
  std::string detail;   // what was extracted, which rule decided; for people
  std::string outcome;  // the typed class, for example "wrong_answer"; types.proto lists them
  std::vector<TestResult> tests;
  std::vector<StepScore> steps;
  std::vector<std::string> stamps;  // "tests_visible", "weaker_sandbox:PROPERTY", "version=NAME"
};

// What a completion is worth. `value` is a reward only where HasReward().
struct Verdict {
  VerdictKind kind = VerdictKind::kUnspecified;
  double value = 0;
  std::vector<VerdictComponent> components;
  std::string detail;
  double seconds = 0;  // spent judging
  // UNDECIDED and INFRASTRUCTURE carry no reward: such a sample leaves its group's statistics and is never a
  // zero.
  bool HasReward() const {
    return kind == VerdictKind::kCorrect || kind == VerdictKind::kWrong || kind == VerdictKind::kGraded;
  }
};

// A policy that can be fetched: from the weight service at `source` ("host:port", or a folder for the direct
// port).
struct PolicyRef {
  JobId job;
  PolicyVersion version = kNoPolicyVersion;
  std::string manifest_hash;
  std::string source;
  // From the learner of a replay: the hash that the manifest would have under the recorded job's name. Else
  // empty.
  std::string recorded_job_hash = {};
  friend bool operator==(const PolicyRef&, const PolicyRef&) = default;
};

// The columns of the ledger. Each sample is in exactly one at every moment (invariant ONCE).
enum class LedgerColumn {
  kInFlight,
  kTrained,
  kDroppedStale,
  kDroppedFailed,
  kDroppedFiltered,
  kQuarantined,
  kCancelled,
  kRolledBack,
};
constexpr int kLedgerColumns = 8;
// "in_flight", "trained", "dropped_stale", "dropped_failed", "dropped_filtered", "quarantined", "cancelled",
// "rolled_back".
const char* LedgerColumnName(LedgerColumn column);

struct Ledger {
  int64_t issued = 0;
  std::array<int64_t, kLedgerColumns> columns{};
  int64_t& operator[](LedgerColumn c) { return columns[static_cast<size_t>(c)]; }
  int64_t operator[](LedgerColumn c) const { return columns[static_cast<size_t>(c)]; }
  // issued equals the sum of the columns.
  bool Balances() const;
};

// A sample with all that is known of it when its group is complete.
struct ScoredSample {
  Trajectory trajectory;
  Verdict verdict;
  double advantage = 0;  // 0 for samples without a reward
};

// The completions of one prompt that are compared with each other.
struct Group {
  Draw draw = 0;
  Prompt prompt;
  std::vector<ScoredSample> samples;  // by index; only those with a reward are trained on
};

}  // namespace sluice
