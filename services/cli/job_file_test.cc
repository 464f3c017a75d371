#include "services/cli/job_file.h"

#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/cli/message/suggestion.h"

namespace sluice::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kJob[] = R"(name: "j"
model { path: "m" dtype: F32 }
prompts { file: "../p.jsonl" }
sampling { group_size: 4 stop: "a" stop: "b" }
reward { component { name: "x" math {} } }
)";

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

TEST(JobFileTest, ReadsTextFormat) {
  const auto spec = ParseJobText(kJob, "j.textproto");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->name(), "j");
  EXPECT_EQ(spec->model().dtype(), v1::ModelSpec::F32);
  EXPECT_THAT(spec->sampling().stop(), ElementsAre("a", "b"));
}

TEST(JobFileTest, NamesLineAndColumnWhenAFieldIsUnknown) {
  const auto spec = ParseJobText("name: \"j\"\nsampling {\n  group_sise: 4\n}\n", "j.textproto");
  ASSERT_EQ(spec.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(MessageOf(spec.status()), StartsWith("j.textproto:3:"));
  EXPECT_THAT(MessageOf(spec.status()), HasSubstr("SamplingSpec has no field \"group_sise\""));
  EXPECT_THAT(MessageOf(spec.status()), HasSubstr("did you mean \"group_size\"?"));
}

TEST(JobFileTest, NamesLineAndColumnWhenAValueIsOfAnotherType) {
  const auto spec = ParseJobText("sampling {\n  group_size: \"four\"\n}\n", "j");
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(MessageOf(spec.status()), StartsWith("j:2:15"));
}

TEST(JobFileTest, RefusesTwoScorersInOneComponent) {
  const auto spec =
      ParseJobText("reward { component { name: \"x\"\nmath {}\nregex { pattern: \"a\" } } }", "j");
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(MessageOf(spec.status()), StartsWith("j:3:"));
}

TEST(JobFileTest, RefusesAFieldGivenTwice) {
  const auto spec = ParseJobText("name: \"a\"\nname: \"b\"\n", "j");
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(MessageOf(spec.status()), StartsWith("j:2:"));
}

TEST(JobFileTest, ReadsJson) {
  const auto spec =
      ParseJobJson(R"({"name": "j", "sampling": {"group_size": 4}, "model": {"dtype": "F32"}})", "j.json");
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->sampling().group_size(), 4);
  EXPECT_EQ(spec->model().dtype(), v1::ModelSpec::F32);
}

TEST(JobFileTest, NamesThePlaceWhenAJsonFieldIsUnknown) {
  const auto spec = ParseJobJson("{\n \"name\": \"j\",\n  \"nonsense\": 3}", "j.json");
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(MessageOf(spec.status()), StartsWith("j.json:3:3: "));
  EXPECT_THAT(MessageOf(spec.status()), HasSubstr("nonsense"));
}

TEST(JobFileTest, NamesThePlaceAndTheFieldOfAWrongJsonValue) {
  const auto mistake = [](const std::string& text) {
    const auto spec = ParseJobJson(text, "j");
    return spec.ok() ? "" : MessageOf(spec.status());
  };
  EXPECT_EQ(mistake(R"({"sampling": {"groupSize": "four"}})"),
            "j:1:15: sampling.group_size: expected int, got: \"four\"");
  EXPECT_EQ(mistake(R"({"sampling": {"group_size": 99999999999}})"),
            "j:1:15: sampling.group_size: expected int, got: 99999999999");
  EXPECT_EQ(mistake("{\"sampling\":\n {\"stop\": [\"a\",\n 7]}}"),
            "j:3:2: sampling.stop[1]: expected string, got: 7");
  EXPECT_EQ(mistake(R"({"sampling": {"stop": 7}})"), "j:1:15: sampling.stop: expected string, got: 7");
  EXPECT_EQ(mistake(R"({"sampling": {"stop": "a"}})"), "");
  EXPECT_EQ(mistake(R"({"sampling": 3})"), "j:1:2: sampling: expected an object, got: 3");
  EXPECT_EQ(mistake(R"({"sampling": {"logit_bias": {"5": "x"}}})"),
            "j:1:35: sampling.logit_bias: expected float, got: \"x\"");
  EXPECT_EQ(mistake(R"({"name": "j", "sampling": {"group_size": "4", "top_k": 2.0, "min_p": null, "stop": [],
                       "logit_bias": {"5": 1.5}}, "model": {"dtype": 2}})"),
            "");
}

TEST(JobFileTest, NamesThePlaceOfWhatIsNotThereAtAnyDepth) {
  const auto mistake = [](const std::string& text) {
    const auto spec = ParseJobText(text, "j");
    return spec.ok() ? "" : MessageOf(spec.status());
  };
  EXPECT_THAT(mistake("model {\n dtype: F16 }"), StartsWith("j:2:9: ModelSpec has no dtype F16; it may be "));
  EXPECT_THAT(mistake("reward { component [{ name: \"a\" math {} },\n { nam: 3 }] }"),
              StartsWith("j:2:4: RewardComponent has no field \"nam\"; did you mean \"name\"?"));
  EXPECT_THAT(mistake("sampling { stop: [\"a\" \"b\", 'c'"), HasSubstr("the \"[\" at 1:18 is not closed"));
  EXPECT_THAT(mistake("sampling < group_size: -1 > # odd, but right\nmodl {}"),
              StartsWith("j:2:1: JobSpec has no field \"modl\""));
  EXPECT_EQ(mistake("sampling { stop: [\"a\" \"b\", 'c'], group_size: 4; } staleness {}"), "");
}

TEST(JobFileTest, SaysWhatAnOverriddenValueMayBe) {
  auto spec = *ParseJobText(kJob, "j");
  EXPECT_THAT(MessageOf(ApplyOverride(spec, "model.dtype=F16")),
              HasSubstr("ModelSpec has no dtype F16; it may be "));
}

TEST(JobFileTest, NamesThePlaceWhenJsonIsMalformed) {
  const auto spec = ParseJobJson("{\n \"name\": \"j\",,\n}", "j.json");
  ASSERT_FALSE(spec.ok());
  EXPECT_THAT(MessageOf(spec.status()), StartsWith("j.json:2:"));
}

TEST(JobFileTest, SetsValuesOfEachKind) {
  auto spec = *ParseJobText(kJob, "j");
  for (const char* assignment :
       {"sampling.group_size=16", "optimizer.adamw.learning_rate=0", "model.dtype=BF16", "name=two words",
        "sampling.stop=c", "reward.component[0].weight=2.5", "algorithm.grpo.normalize_std=false",
        "algorithm.grpo.clip_low=1e-1", "staleness=max_versions: 0 on_deadline: WAIT"}) {
    const absl::Status status = ApplyOverride(spec, assignment);
    EXPECT_TRUE(status.ok()) << assignment << ": " << status;
  }
  EXPECT_EQ(spec.sampling().group_size(), 16);
  EXPECT_TRUE(spec.optimizer().adamw().has_learning_rate());
  EXPECT_EQ(spec.optimizer().adamw().learning_rate(), 0);
  EXPECT_EQ(spec.model().dtype(), v1::ModelSpec::BF16);
  EXPECT_EQ(spec.name(), "two words");
  EXPECT_THAT(spec.sampling().stop(), ElementsAre("c"));
  EXPECT_EQ(spec.reward().component(0).weight(), 2.5);
  EXPECT_TRUE(spec.algorithm().grpo().has_normalize_std());
  EXPECT_FALSE(spec.algorithm().grpo().normalize_std());
  EXPECT_EQ(spec.staleness().on_deadline(), v1::StalenessSpec::WAIT);
  EXPECT_TRUE(spec.staleness().has_max_versions());
}

TEST(JobFileTest, RefusesWrongOverrides) {
  for (const char* assignment :
       {"sampling.group_size", "=3", "sampling.group_sise=4", "sampling.group_size=four", "name.x=3",
        "reward.component.weight=2", "reward.component[7].weight=2", "model.dtype=F16",
        "sampling.group_size=99999999999", "sampling..x=1", "."}) {
    auto spec = *ParseJobText(kJob, "j");
    const absl::Status status = ApplyOverride(spec, assignment);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << assignment;
    EXPECT_THAT(MessageOf(status), HasSubstr(assignment));
  }
}

TEST(JobFileTest, SaysHowAMapIsWritten) {
  for (const char* assignment : {"sampling.logit_bias=1", "sampling.logit_bias[0].value=1"}) {
    auto spec = *ParseJobText(kJob, "j");
    EXPECT_THAT(MessageOf(ApplyOverride(spec, assignment)), HasSubstr("logit_bias { key: 5 value: 1.5 }"));
  }
}

TEST(JobFileTest, ResolvesPathsOfTheFileAgainstItsFolder) {
  const std::string folder = ::testing::TempDir() + "/job_file_test";
  std::ofstream(folder + ".textproto") << kJob;
  const auto spec = ReadJob(folder + ".textproto", {"evaluation.file=/absolute/e.jsonl"});
  ASSERT_TRUE(spec.ok()) << spec.status();
  const std::string base = std::string(::testing::TempDir());
  EXPECT_THAT(spec->model().path(), StartsWith("/"));
  EXPECT_THAT(spec->model().path(), ::testing::EndsWith("/m"));
  EXPECT_THAT(spec->prompts().file(), ::testing::Not(HasSubstr("..")));
  EXPECT_EQ(spec->evaluation().file(), "/absolute/e.jsonl");
  EXPECT_FALSE(spec->has_warm_start());
}

TEST(JobFileTest, GivesThePlaceOfWhatTheCoordinatorFindsWrong) {
  const std::string path = ::testing::TempDir() + "/job_file_place_test.textproto";
  std::ofstream(path) << kJob;
  const auto located = [&](const std::string& message, std::vector<std::string> overrides = {}) {
    return MessageOf(LocateMistake(absl::InvalidArgumentError(message), path, overrides));
  };
  EXPECT_EQ(located("127.0.0.1:5: sampling.group_size: too few"),
            path + ":4:12: sampling.group_size: too few");
  EXPECT_EQ(located("reward.component[0].name: no"), path + ":5:22: reward.component[0].name: no");
  EXPECT_EQ(located("reward.component[0].weight: no"), path + ":5:10: reward.component[0].weight: no");
  EXPECT_EQ(located("evaluation.file: is needed"), path + ": evaluation.file: is needed");
  EXPECT_EQ(located("h:1: sampling.group_size: no", {"seed=2", "sampling.group_size=1"}),
            "--set sampling.group_size=1: sampling.group_size: no");
  EXPECT_EQ(located("127.0.0.1:5: /p.jsonl:3: not valid JSON"),
            path + ": 127.0.0.1:5: /p.jsonl:3: not valid JSON");
  EXPECT_EQ(LocateMistake(absl::UnavailableError("away"), path, {}).code(), absl::StatusCode::kUnavailable);
}

TEST(JobFileTest, NamesTheFileWhenItIsMissing) {
  const auto spec = ReadJob("/does/not/exist.textproto", {});
  EXPECT_EQ(spec.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(spec.status()), HasSubstr("/does/not/exist.textproto"));
}

TEST(SuggestionTest, FindsTheNearestOrNothing) {
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3);
  EXPECT_EQ(EditDistance("", "abc"), 3);
  EXPECT_EQ(Nearest("smapling", {"model", "sampling", "seed"}), "sampling");
  EXPECT_EQ(Nearest("zzzzzz", {"model", "sampling", "seed"}), "");
}

TEST(JobFileTest, AJobGoesOnFromAVersionOfAnother) {
  EXPECT_EQ(ParseJobVersion("sort-1a2b@7")->job, "sort-1a2b");
  EXPECT_EQ(ParseJobVersion("sort-1a2b@7")->version, 7);
  EXPECT_EQ(ParseJobVersion("sort-1a2b")->version, std::nullopt);
  for (const char* wrong : {"", "@3", "a@", "a@-1", "a@x"})
    EXPECT_FALSE(ParseJobVersion(wrong).ok()) << wrong;
  v1::JobSpec spec;
  spec.mutable_warm_start()->set_steps(3);
  spec.mutable_replay()->set_job("old");
  spec.mutable_from()->set_job("older");
  spec.mutable_stop()->set_steps(5);
  const auto next = GoOnFrom(spec, {"stop.steps=9"});
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_FALSE(next->has_warm_start());
  EXPECT_FALSE(next->has_replay());
  EXPECT_FALSE(next->has_from());
  EXPECT_EQ(next->stop().steps(), 9);
}

}  // namespace
}  // namespace sluice::cli
