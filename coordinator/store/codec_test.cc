// What the store keeps of specs, groups and reports reads back as it was.
#include <cmath>
#include <cstring>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "coordinator/reporting/event_file.h"
#include "coordinator/reporting/step_summary.h"
#include "coordinator/store/crc32c.h"
#include "coordinator/store/group_codec.h"
#include "coordinator/store/spec_json.h"
#include "coordinator/store/view_json.h"
#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

namespace sluice {
namespace {

Group SomeGroup() {
  Group group;
  group.draw = 7;
  group.prompt = {"uid", "text \xff\x01", {1, 2, 3}, {{"answer", "4"}, {"kind", "easy"}}};
  for (uint32_t i = 0; i < 3; ++i) {
    ScoredSample sample;
    sample.trajectory.key = {7, i};
    sample.trajectory.tokens = {5, 6};
    sample.trajectory.raw_logprobs = {-0.5f, -1.25f};
    sample.trajectory.processed_logprobs = {-0.25f, -1};
    sample.trajectory.spans = {{0, 1, 3, "hash3", "cpu"}, {1, 2, 4, "hash4", "cpu"}};
    sample.trajectory.finish_reason = FinishReason::kLength;
    sample.trajectory.text = "completion";
    sample.trajectory.worker = "rollout-0";
    sample.trajectory.attempt = 2;
    sample.trajectory.alternatives = {{5, -0.5f}, {6, -1.25f}};
    sample.trajectory.experts = {1, 2, {0, 65535, 3, 4, 5, 6, 7, 8}};
    sample.verdict.kind = i == 2 ? VerdictKind::kUndecided : VerdictKind::kCorrect;
    sample.verdict.value = i;
    sample.verdict.components = {{"answer",
                                  VerdictKind::kGraded,
                                  0.5 + i,
                                  2,
                                  "detail",
                                  "time_limit",
                                  {{"passed", 0.25, 4096, "one"}, {"time_limit", 5, 8192, "two"}},
                                  {{3, 0.5}, {9, -1}},
                                  {"tests_visible", "version=7"}}};
    sample.advantage = 0.5 - i;
    group.samples.push_back(sample);
  }
  return group;
}

TEST(GroupCodec, ReadsBackEverything) {
  const Group group = SomeGroup();
  auto read = DecodeGroup(EncodeGroup(group));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(EncodeGroup(*read), EncodeGroup(group));
  EXPECT_EQ(read->prompt.fields, group.prompt.fields);
  EXPECT_EQ(read->samples[1].trajectory.spans, group.samples[1].trajectory.spans);
  EXPECT_EQ(read->samples[1].trajectory.alternatives, group.samples[1].trajectory.alternatives);
  EXPECT_EQ(read->samples[1].trajectory.experts, group.samples[1].trajectory.experts);
  const VerdictComponent& component = read->samples[1].verdict.components[0];
  EXPECT_EQ(component.value, 1.5);
  EXPECT_EQ(component.outcome, "time_limit");
  EXPECT_EQ(component.tests, group.samples[1].verdict.components[0].tests);
  EXPECT_EQ(component.steps, group.samples[1].verdict.components[0].steps);
  EXPECT_EQ(component.stamps, (std::vector<std::string>{"tests_visible", "version=7"}));
  EXPECT_EQ(read->samples[2].advantage, -1.5);
}

std::string Bytes(auto value) { return std::string(reinterpret_cast<const char*>(&value), sizeof(value)); }
std::string Bytes(const char* text) { return Bytes(static_cast<uint32_t>(strlen(text))) + text; }

// As releases before wrote it: one prompt token, one sample of one token with one span, one component.
std::string OldGroup(uint32_t format) {
  const std::string one = Bytes(uint32_t{1}), none = Bytes(uint32_t{0});
  std::string trajectory = Bytes(uint64_t{7}) + none + one + Bytes(int32_t{5}) + one + Bytes(-0.5f) + one +
                           Bytes(-0.5f) + one + Bytes(int32_t{0}) + Bytes(int32_t{1}) + Bytes(int64_t{3}) +
                           Bytes("hash") + Bytes("cpu") + Bytes(FinishReason::kStop) + Bytes("five") +
                           Bytes("worker") + none;
  if (format == 2) trajectory += none + none + none + none;
  const std::string component =
      Bytes("answer") + Bytes(VerdictKind::kCorrect) + Bytes(1.0) + Bytes(0.5) + Bytes("detail");
  const std::string verdict =
      Bytes(VerdictKind::kCorrect) + Bytes(1.0) + one + component + Bytes("") + Bytes(0.25);
  return Bytes(format) + Bytes(uint64_t{7}) + Bytes("uid") + Bytes("prompt") + one + Bytes(int32_t{1}) +
         none + one + trajectory + verdict + Bytes(0.5);
}

TEST(GroupCodec, ReadsTheFormatsBefore) {
  for (uint32_t format : {1u, 2u}) {
    const auto read = DecodeGroup(OldGroup(format));
    ASSERT_TRUE(read.ok()) << format << ": " << read.status();
    ASSERT_EQ(read->samples.size(), 1u);
    EXPECT_EQ(read->samples[0].trajectory.text, "five");
    EXPECT_TRUE(read->samples[0].trajectory.alternatives.empty());
    ASSERT_EQ(read->samples[0].verdict.components.size(), 1u);
    EXPECT_EQ(read->samples[0].verdict.components[0].detail, "detail");
    EXPECT_TRUE(read->samples[0].verdict.components[0].tests.empty());
    EXPECT_EQ(read->samples[0].advantage, 0.5);
  }
  EXPECT_FALSE(DecodeGroup(OldGroup(4)).ok());
}

TEST(GroupCodec, RefusesEveryTruncation) {
  const std::string bytes = EncodeGroup(SomeGroup());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodeGroup(bytes.substr(0, size)).status().code(), absl::StatusCode::kDataLoss) << size;
  }
  EXPECT_FALSE(DecodeGroup(bytes + "x").ok());
}

TEST(SpecJson, ReadsBackEveryFieldThatIsNotTheDefault) {
  JobSpec spec;
  spec.name = "name \"quoted\"";
  spec.seed = ~uint64_t{0};
  spec.deterministic = true;
  spec.model = {"/model", ModelDtype::kF32};
  spec.prompts = {"/p", PromptTemplate::kChat, 77};
  spec.sampling.group_size = 5;
  spec.sampling.params = {0.7f, 3, 0.9f, 0.1f, 1.5f,   -1,       2,   {{7, -3.5f}},
                          33,   2, 5,    true, {4, 5}, {"</a>"}, true};
  spec.reward.components = {{"m", 1, MathScorerSpec{}},
                            {"r", 0.5, RegexScorerSpec{"<a>.*"}},
                            {"e", 2, ExpressionScorerSpec{}},
                            {"l", -1, LengthScorerSpec{10, 20, LengthUnit::kTokens}},
                            {"c", 1,
                             CodeScorerSpec{CodeLanguage::kCpp, CodeTests::kStdio, CodeComparison::kNumeric,
                                            0.5, 0.25, 2.5, 1 << 30, CodeCredit::kShare, 7, 4096},
                             0.5, -1},
                            {"t", 1, TagsScorerSpec{{"a", "b"}, true, true}},
                            {"n", 1, RepetitionScorerSpec{4, 0.5}},
                            {"w", 1, LanguageScorerSpec{"ru"}},
                            {"j", 1, RemoteScorerSpec{"judge", {{"k", "v"}}, 2.5, 4, 16, "v7"}},
                            {"g", 1, GroupLengthScorerSpec{"m"}}};
  ASSERT_EQ(spec.reward.components.size(), std::variant_size_v<ScorerSpec>);
  spec.reward.combination = RewardCombination::kMinimum;
  spec.grpo = {0.1, 0.3, 0.01, 0.02, false, Aggregation::kSequenceMeanTokenSum, true, 3};
  spec.optimizer = {1e-3, 0.8, 0.95, 1e-6, 0.1, 9, ScheduleKind::kCosine, 0.2, 0.5};
  spec.batch = {6, 1000, 0.5};
  spec.staleness = {4, OnDeadline::kWait, SwapMode::kContinue};
  spec.evaluation = {"/e", 3, 4, 5, HeldOutMeasure::kReward, {true, 0.25, 0.5}, {3, 0.5, 0.125}};
  spec.evaluation.correct_by = "answer";
  spec.evaluation.correct_at = 0.5;
  EvaluationSpec more;
  more.file = "/more";
  more.every_steps = 6;
  more.name = "greedy";
  more.pass_at = {1, 4};
  more.sampling = {0, 0.5, 0.25, 3, 77};
  spec.more_evaluations = {more, more};
  spec.guard = {0.5, 0.25, 4, 2, 0.125, 6, GuardAction::kPause, 7};
  spec.checkpoint = {7, 8, 9};
  spec.warm_start = {"/w", 11, 12, 0.125, 13};
  spec.timeout = {1, 2, 3, 4, 5, 2, 4};
  spec.share = {-6, 7, 8};
  spec.from = {"before", 4, true, "first", 5, 6};
  spec.replay = {"recorded", 3};
  spec.stop_steps = 99;
  const std::string json = SpecToJson(spec);
  auto read = SpecFromJson(json);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, spec);
  EXPECT_EQ(SpecToJson(*read), json);
  // A field that the visitor forgot is in neither text: each is set above.
  const auto missing = nlohmann::json::parse(SpecToJson(JobSpec()));
  const auto written = nlohmann::json::parse(json);
  for (const auto& [key, value] : missing.items())
    EXPECT_NE(written.at(key), value) << key << " is at its default";
  EXPECT_EQ(SpecFromJson("{").status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(SpecFromJson(R"({"name": 3, "reward": []})").status().code(), absl::StatusCode::kDataLoss);
}

TEST(SpecJson, ReadsRewardsOfTheFirstRelease) {
  const auto read = SpecFromJson(
      R"({"reward": [{"name": "a", "weight": 1, "kind": 0}, {"name": "b", "weight": 0.5, "kind": 1, "pattern": "x"},
          {"name": "c", "weight": 1, "kind": 2}, {"name": "d", "weight": 1, "kind": 3, "soft_limit": 1, "hard_limit": 2}]})");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->reward.combination, RewardCombination::kWeightedSum);
  EXPECT_EQ(std::get<MathScorerSpec>(read->reward.components[0].scorer).mode, MathMode::kCompletion);
  EXPECT_FALSE(read->reward.components[0].gate.has_value());
  EXPECT_EQ(std::get<LengthScorerSpec>(read->reward.components[3].scorer).hard_limit, 2);
  EXPECT_EQ(SpecFromJson(R"({"reward": [{"name": "a", "weight": 1, "kind": 99}]})").status().code(),
            absl::StatusCode::kDataLoss);
}

// As earlier releases stored each scorer: by a number. The text is theirs and never changes.
constexpr char kNumberedRewards[] = R"({"reward": [
  {"name": "m", "weight": 1.0, "gate_value": 0.0, "kind": 0, "mode": 1},
  {"name": "r", "weight": 0.5, "gate_value": 0.0, "kind": 1, "pattern": "<a>.*"},
  {"name": "e", "weight": 2.0, "gate_value": 0.0, "kind": 2},
  {"name": "l", "weight": -1.0, "gate_value": 0.0, "kind": 3, "soft_limit": 10, "hard_limit": 20, "unit": 1},
  {"name": "c", "weight": 1.0, "gate": 0.5, "gate_value": -1.0, "kind": 4, "language": 1, "tests": 1, "comparison": 2,
   "absolute_tolerance": 0.5, "relative_tolerance": 0.25, "timeout_seconds": 2.5, "memory_bytes": 1073741824,
   "credit": 1, "max_tests": 7, "output_bytes": 4096},
  {"name": "t", "weight": 1.0, "gate_value": 0.0, "kind": 5, "tags": ["a", "b"], "nothing_outside": true,
   "all_or_nothing": true},
  {"name": "n", "weight": 1.0, "gate_value": 0.0, "kind": 6, "ngram": 4, "scale": 0.5},
  {"name": "w", "weight": 1.0, "gate_value": 0.0, "kind": 7, "language": "ru"},
  {"name": "j", "weight": 1.0, "gate_value": 0.0, "kind": 8, "service": "judge", "parameters": {"k": "v"},
   "timeout_seconds": 2.5, "max_attempts": 4, "max_batch": 16, "expect_version": "v7"},
  {"name": "g", "weight": 1.0, "gate_value": 0.0, "kind": 9, "correct_by": "m"}],
  "reward_combination": 2})";

TEST(SpecJson, ReadsEveryScorerAsEarlierReleasesNumberedIt) {
  const auto read = SpecFromJson(kNumberedRewards);
  ASSERT_TRUE(read.ok()) << read.status();
  const auto& components = read->reward.components;
  ASSERT_EQ(components.size(), 10u);
  EXPECT_EQ(std::get<MathScorerSpec>(components[0].scorer).mode, MathMode::kPair);
  EXPECT_EQ(std::get<RegexScorerSpec>(components[1].scorer).pattern, "<a>.*");
  EXPECT_TRUE(std::holds_alternative<ExpressionScorerSpec>(components[2].scorer));
  EXPECT_EQ(std::get<LengthScorerSpec>(components[3].scorer).unit, LengthUnit::kTokens);
  const auto& code = std::get<CodeScorerSpec>(components[4].scorer);
  EXPECT_EQ(code.tests, CodeTests::kStdio);
  EXPECT_EQ(code.comparison, CodeComparison::kNumeric);
  EXPECT_EQ(code.output_bytes, 4096);
  EXPECT_EQ(std::get<TagsScorerSpec>(components[5].scorer).tags.size(), 2u);
  EXPECT_EQ(std::get<RepetitionScorerSpec>(components[6].scorer).ngram, 4);
  EXPECT_EQ(std::get<LanguageScorerSpec>(components[7].scorer).language, "ru");
  EXPECT_EQ(std::get<RemoteScorerSpec>(components[8].scorer).expect_version, "v7");
  EXPECT_EQ(std::get<GroupLengthScorerSpec>(components[9].scorer).correct_by, "m");
  EXPECT_EQ(read->reward.combination, RewardCombination::kMinimum);
}

TEST(SpecJson, StoresScorersByName) {
  const auto read = SpecFromJson(kNumberedRewards);
  ASSERT_TRUE(read.ok()) << read.status();
  const std::string json = SpecToJson(*read);
  for (const char* name : {"math", "regex", "expression", "length", "code", "tags", "repetition", "language",
                           "remote", "group_length"}) {
    EXPECT_THAT(json, testing::HasSubstr(absl::StrCat("\"kind\":\"", name, "\"")));
  }
  const auto again = SpecFromJson(json);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(SpecToJson(*again), json);
  for (const char* kind : {"\"other\"", "-1", "10", "true", "null"}) {
    EXPECT_EQ(SpecFromJson(absl::StrCat(R"({"reward": [{"name": "a", "weight": 1, "kind": )", kind, "}]}"))
                  .status()
                  .code(),
              absl::StatusCode::kDataLoss)
        << kind;
  }
}

TEST(ViewJson, ReadsBackRecordsWithNumbersThatAreNone) {
  StepRecordView record{3, 3, {{"reward", 0.5}, {"kl", std::nan("")}}, absl::FromUnixMicros(1234567)};
  auto read = StepRecordFromJson(StepRecordToJson(record));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->metrics.at("reward"), 0.5);
  EXPECT_TRUE(std::isnan(read->metrics.at("kl")));
  EXPECT_EQ(read->time, record.time);
  auto evaluation = EvaluationFromJson(EvaluationToJson({5, 5, 0.5, 0.25, 8, 3.5, {{"easy", 1.0}}}));
  ASSERT_TRUE(evaluation.ok());
  EXPECT_EQ(evaluation->accuracy_by_kind.at("easy"), 1.0);
  EvaluationView other{.step = 5, .accuracy = 0.75, .name = "greedy", .pass_at = {{1, 0.5}, {8, 1}}};
  evaluation = EvaluationFromJson(EvaluationToJson({.step = 5, .others = {other, other}}));
  ASSERT_TRUE(evaluation.ok());
  ASSERT_EQ(evaluation->others.size(), 2u);
  EXPECT_EQ(evaluation->others[1].name, "greedy");
  EXPECT_EQ(evaluation->others[1].accuracy, 0.75);
  EXPECT_EQ(evaluation->others[1].pass_at, other.pass_at);
  EXPECT_FALSE(EvaluationFromJson("[]").ok());
}

TEST(StepSummary, LeavesSamplesWithoutARewardOut) {
  const GroupSummary group = SummariseGroup(SomeGroup());
  EXPECT_EQ(group.rewards, (std::vector<double>{0, 1}));
  EXPECT_EQ(group.oldest, 3);
  EXPECT_FALSE(group.tied);
  const auto metrics = SummariseBatch({group}, 5);
  EXPECT_EQ(metrics.at("reward"), 0.5);
  EXPECT_EQ(metrics.at("reward_std"), 0.5);
  EXPECT_EQ(metrics.at("reward_answer"), 1.0);
  EXPECT_EQ(metrics.at("completion_tokens"), 2);
  EXPECT_EQ(metrics.at("staleness_max"), 2);
  EXPECT_EQ(metrics.at("group_ties"), 0);
  EXPECT_EQ(SummariseBatch({group}, 5, /*filtered=*/3).at("group_ties"), 0.75);
  EvaluationSummary evaluation;
  evaluation.Add(SomeGroup());
  const EvaluationView view = evaluation.Finish(4);
  EXPECT_EQ(view.samples, 2);
  EXPECT_EQ(view.accuracy, 1.0);
  EXPECT_EQ(view.accuracy_by_kind.at("easy"), 1.0);
}

TEST(StepSummary, EvaluationDoesNotDependOnTheOrderOfGroups) {
  const auto reward_of = [](const std::vector<Draw>& order) {
    EvaluationSummary evaluation;
    for (Draw draw : order) {
      Group group = SomeGroup();
      group.draw = draw;
      for (ScoredSample& sample : group.samples) sample.verdict.value = 0.1 * static_cast<double>(draw);
      evaluation.Add(group);
    }
    return evaluation.Finish(1).reward;
  };
  EXPECT_EQ(reward_of({1, 2, 3}), reward_of({3, 2, 1}));
  EXPECT_EQ(reward_of({1, 2, 3}), reward_of({2, 3, 1}));
}

// A reader of the TFRecord framing and of the few protobuf fields used.
struct ReadScalar {
  int64_t step = 0;
  std::string tag;
  float value = 0;
};

uint64_t Varint(absl::string_view& in) {
  uint64_t out = 0;
  for (int shift = 0; !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    out |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) break;
  }
  return out;
}

template <typename F>
void ForEachField(absl::string_view in, F on_field) {
  while (!in.empty()) {
    const uint64_t tag = Varint(in);
    const uint64_t wire = tag & 7;
    uint64_t number = 0;
    absl::string_view bytes;
    if (wire == 0) number = Varint(in);
    if (wire == 1) bytes = in.substr(0, 8);
    if (wire == 2) {
      const uint64_t size = Varint(in);
      bytes = in.substr(0, size);
    }
    if (wire == 5) bytes = in.substr(0, 4);
    in.remove_prefix(bytes.size());
    on_field(tag >> 3, number, bytes);
  }
}

std::vector<std::string> Frames(absl::string_view in) {
  std::vector<std::string> out;
  while (in.size() >= 16) {
    uint64_t size = 0;
    uint32_t crc = 0;
    std::memcpy(&size, in.data(), 8);
    std::memcpy(&crc, in.data() + 8, 4);
    EXPECT_EQ(crc, MaskedCrc32c(in.substr(0, 8)));
    out.emplace_back(in.substr(12, size));
    std::memcpy(&crc, in.data() + 12 + size, 4);
    EXPECT_EQ(crc, MaskedCrc32c(out.back()));
    in.remove_prefix(16 + size);
  }
  EXPECT_TRUE(in.empty());
  return out;
}

TEST(EventFile, ReadsBackAsFramedProtobufEvents) {
  const absl::Time now = absl::FromUnixSeconds(1000);
  const std::string file = EventFileHeader(now) + EventFileScalars(300, {{"a/reward", 0.5}, {"b", -2}}, now);
  const std::vector<std::string> events = Frames(file);
  ASSERT_EQ(events.size(), 2u);
  std::string version;
  ForEachField(events[0], [&](uint64_t field, uint64_t, absl::string_view bytes) {
    if (field == 3) version = std::string(bytes);
  });
  EXPECT_EQ(version, "brain.Event:2");
  uint64_t step = 0;
  std::map<std::string, float> scalars;
  ForEachField(events[1], [&](uint64_t field, uint64_t number, absl::string_view bytes) {
    if (field == 2) step = number;
    if (field != 5) return;
    ForEachField(bytes, [&](uint64_t, uint64_t, absl::string_view value_bytes) {
      std::string tag;
      float value = 0;
      ForEachField(value_bytes, [&](uint64_t inner, uint64_t, absl::string_view b) {
        if (inner == 1) tag = std::string(b);
        if (inner == 2) std::memcpy(&value, b.data(), 4);
      });
      scalars[tag] = value;
    });
  });
  EXPECT_EQ(step, 300u);
  EXPECT_EQ(scalars, (std::map<std::string, float>{{"a/reward", 0.5f}, {"b", -2.0f}}));
}

}  // namespace
}  // namespace sluice
