#include "services/cli/reward/scoring_run.h"

#include <fstream>
#include <functional>

#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "core/rl/reward_composition.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "services/rpc/testing_server.h"
#include "services/servers/reward_adapter.h"
#include "tests/fakes/fake_scorer.h"

namespace sluice::cli {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Verdict RightWhenEqual(const ScoreItem& item) {
  Verdict verdict;
  const auto answer = item.fields.find("answer");
  const bool right = answer != item.fields.end() && answer->second == item.completion;
  verdict.kind = right ? VerdictKind::kCorrect : VerdictKind::kWrong;
  verdict.value = right ? 1 : 0;
  verdict.components = {{"math", verdict.kind, verdict.value, 1, "", right ? "equal" : "different"}};
  return verdict;
}

class ScoringRunTest : public ::testing::Test {
 protected:
  ScoringRunTest() { std::remove(output_.c_str()); }

  static std::string Row(int id, const std::string& more = "") {
    return absl::StrCat("{\"id\": ", id, ", \"completion\": \"", id % 3, "\", \"answer\": ", id % 2, more,
                        "}\n");
  }
  static std::string Rows(int begin, int end) {
    std::string out;
    for (int i = begin; i < end; ++i) out += Row(i);
    return out;
  }

  absl::Status Run(const std::string& text, bool resume = false) {
    std::ofstream(input_, std::ios::binary) << text;
    SLUICE_ASSIGN_OR_RETURN(const auto source, RowSource::Open(input_, spec_, -1));
    RowSource::Done done;
    summary_ = RewardSummary(spec_);
    if (resume) {
      SLUICE_ASSIGN_OR_RETURN(done, source->SkipDone(output_, summary_));
      summary_.EndOfEarlier();
    }
    resumed_ = done.rows;
    SLUICE_ASSIGN_OR_RETURN(const auto output, RowOutput::Open(output_, done.bytes));
    RowScorer scorer(server_.peer(), spec_, options_, cancel_, restart_);
    return ScoreRows(*source, scorer, spec_, options_, cancel_, *output, summary_);
  }

  std::vector<json> Output() {
    std::vector<json> out;
    std::ifstream file(output_);
    for (std::string line; std::getline(file, line);) out.push_back(json::parse(line));
    return out;
  }

  void ExpectIds(int end) {
    const auto rows = Output();
    ASSERT_EQ(rows.size(), static_cast<size_t>(end));
    for (int i = 0; i < end; ++i) EXPECT_EQ(rows[static_cast<size_t>(i)]["id"], i);
  }

  const std::string input_ = ::testing::TempDir() + "/scoring_in.jsonl";
  const std::string output_ = ::testing::TempDir() + "/scoring_out.jsonl";
  RewardSpec spec_{{{"math", 1, MathScorerSpec{}}}};
  ScoringOptions options_{"in.jsonl"};
  CancelToken cancel_;
  RowScorer::Restart restart_;
  std::function<Verdict(const ScoreItem&)> judge_ = RightWhenEqual;
  FakeScorer fake_{[this](const ScoreItem& item) { return judge_(item); }};
  Executor executor_;
  RewardAdapter adapter_{fake_, executor_};
  TestingServer server_{adapter_};
  RewardSummary summary_{spec_};
  int64_t resumed_ = 0;
};

TEST_F(ScoringRunTest, JudgesAllRowsInOrder) {
  ASSERT_TRUE(Run(Rows(0, 1000)).ok());
  ExpectIds(1000);
  const auto rows = Output();
  EXPECT_EQ(rows[0]["verdict"], "CORRECT");
  EXPECT_EQ(rows[0]["class"], "equal");
  EXPECT_EQ(rows[2]["verdict"], "WRONG");
  EXPECT_EQ(summary_.rows(), 1000);
  EXPECT_EQ(summary_.failed(), 0);
  EXPECT_EQ(summary_.ToJson(absl::Seconds(2))["rows_per_second"], 500);
}

TEST_F(ScoringRunTest, BadRowsStandInTheirPlaces) {
  ASSERT_TRUE(Run(Row(0) + "oops\n\n" + Row(2) + "{\"id\": 9}\n" + Row(4)).ok());
  const auto rows = Output();
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[1]["id"], 2);
  EXPECT_EQ(rows[1]["line"], 2);
  EXPECT_THAT(rows[1]["error"].get<std::string>(), HasSubstr("malformed"));
  EXPECT_EQ(rows[2]["verdict"], "WRONG");
  EXPECT_EQ(rows[3]["id"], 9);
  EXPECT_EQ(rows[3]["verdict"], "UNDECIDED");
  EXPECT_TRUE(rows[3]["value"].is_null());
  EXPECT_EQ(summary_.failed(), 2);
}

TEST_F(ScoringRunTest, AFullQueueIsWaitedFor) {
  fake_.FailScore(absl::ResourceExhaustedError("full"), 3);
  ASSERT_TRUE(Run(Rows(0, 200)).ok());
  ExpectIds(200);
}

TEST_F(ScoringRunTest, WhatWasNotJudgedInTimeIsInfrastructure) {
  fake_.FailScore(absl::DeadlineExceededError("late"), 1);
  ASSERT_TRUE(Run(Row(0)).ok());
  EXPECT_EQ(Output()[0]["verdict"], "INFRASTRUCTURE");
  EXPECT_TRUE(Output()[0]["value"].is_null());
  EXPECT_EQ(summary_.failed(), 1);
}

TEST_F(ScoringRunTest, AServiceThatIsAwayEndsTheRunWithWhatIsDone) {
  fake_.FailScore(absl::UnavailableError("away"), 1000);
  EXPECT_EQ(Run(Rows(0, 100)).code(), absl::StatusCode::kUnavailable);
}

TEST_F(ScoringRunTest, AServiceOfOurOwnIsStartedAnewAndOnlyTheRowThatEndsItIsLost) {
  int restarts = 0;
  restart_ = [&]() -> absl::StatusOr<Peer> {
    ++restarts;
    return server_.peer();
  };
  options_.calls_at_once = 1;
  fake_.FailScore(absl::UnavailableError("ended"), 2);  // the batch, and its first row once
  ASSERT_TRUE(Run(Rows(0, 200)).ok());
  ExpectIds(200);
  EXPECT_EQ(restarts, 1);
  EXPECT_EQ(summary_.failed(), 0);
  restarts = 0;
  fake_.FailScore(absl::UnavailableError("ended"), 3);  // the batch, its first row, and that again
  ASSERT_TRUE(Run(Rows(0, 3)).ok());
  EXPECT_EQ(restarts, 2);
  EXPECT_EQ(Output()[0]["verdict"], "INFRASTRUCTURE");
  EXPECT_EQ(Output()[2]["verdict"], "WRONG");
  EXPECT_EQ(summary_.failed(), 1);
}

TEST_F(ScoringRunTest, CancellingKeepsThePrefix) {
  judge_ = [this, n = 0](const ScoreItem& item) mutable {
    if (++n == 300) cancel_.Cancel();
    return RightWhenEqual(item);
  };
  options_.calls_at_once = 1;
  ASSERT_TRUE(Run(Rows(0, 5000)).ok());
  const size_t done = Output().size();
  EXPECT_LT(done, 1000u);
  ExpectIds(static_cast<int>(done));
}

TEST_F(ScoringRunTest, ResumesBehindTheLastWholeRow) {
  ASSERT_TRUE(Run(Rows(0, 70)).ok());
  std::ofstream(output_, std::ios::app) << "{\"id\": 70, \"verd";  // cut off by kill -9
  ASSERT_TRUE(Run(Rows(0, 300), /*resume=*/true).ok());
  EXPECT_EQ(resumed_, 70);
  EXPECT_EQ(summary_.rows(), 300);
  EXPECT_EQ(summary_.new_rows(), 230);
  ExpectIds(300);
}

TEST_F(ScoringRunTest, TheSummaryAfterResumingIsThatOfOneRun) {
  const std::string bad = "{\"id\": \"bad\"}\n";
  ASSERT_TRUE(Run(bad + Rows(1, 300)).ok());
  nlohmann::ordered_json whole = summary_.ToJson(absl::Seconds(1));
  ASSERT_TRUE(Run(bad + Rows(1, 70)).ok());
  ASSERT_TRUE(Run(bad + Rows(1, 300), /*resume=*/true).ok());
  nlohmann::ordered_json resumed = summary_.ToJson(absl::Seconds(1));
  EXPECT_EQ(resumed["resumed"], 70);
  EXPECT_EQ(resumed["rows_per_second"], 230);
  EXPECT_EQ(resumed["failed"], 1);
  for (const char* own : {"resumed", "rows_per_second"}) {
    whole.erase(own);
    resumed.erase(own);
  }
  EXPECT_EQ(resumed, whole);
}

TEST_F(ScoringRunTest, ResumingWithAnotherRewardOrAChangedRowIsRefused) {
  ASSERT_TRUE(Run(Rows(0, 10)).ok());
  const std::string before = *ReadFile(output_);
  const auto refused = [&](const std::string& rows, const char* why) {
    const absl::Status status = Run(rows, /*resume=*/true);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
    EXPECT_THAT(std::string(status.message()), HasSubstr("leave --resume out"));
    EXPECT_EQ(*ReadFile(output_), before);
  };
  std::string changed = Rows(0, 10);
  changed.replace(changed.find("\"answer\": 1"), 11, "\"answer\": 2");
  refused(changed, ":2: line 2 of the input, id 1, has changed since it was judged");
  const RewardSpec spec = spec_;
  spec_.components[0].weight = 2;
  refused(Rows(0, 10), ":1: was judged by another reward");
  spec_ = spec;
  EXPECT_TRUE(Run(Rows(0, 10), true).ok());
  std::ofstream(output_) << "{\"id\": 0, \"verdict\": \"WRONG\"}\n";  // as versions before wrote them
  EXPECT_THAT(std::string(Run(Rows(0, 10), true).message()), HasSubstr("has no \"fingerprint\""));
}

TEST_F(ScoringRunTest, ResumingOverARowThatNobodyWroteIsRefused) {
  ASSERT_TRUE(Run(Rows(0, 1)).ok());
  const json row = Output()[0];
  for (const char* member : {"value", "class", "components", "verdict"}) {
    json broken = row;
    broken[member] = json::array({7});
    std::ofstream(output_) << broken.dump() << "\n";
    EXPECT_EQ(Run(Rows(0, 1), true).code(), absl::StatusCode::kInvalidArgument) << member;
  }
}

TEST_F(ScoringRunTest, AnOutputHasOneWriter) {
  const auto first = RowOutput::Open(output_, 0);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(RowOutput::Open(output_, 0).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ScoringRunTest, AnOutputNeedsItsFolder) {
  EXPECT_TRUE(RowOutput::Check(output_).ok());
  EXPECT_TRUE(RowOutput::Check("out.jsonl").ok());
  EXPECT_TRUE(RowOutput::Check("-").ok());
  const absl::Status absent = RowOutput::Check(::testing::TempDir() + "/absent/deeper/out.jsonl");
  EXPECT_THAT(std::string(absent.message()), HasSubstr("mkdir -p"));
  EXPECT_THAT(std::string(RowOutput::Check(::testing::TempDir()).message()), HasSubstr("is a folder"));
  EXPECT_FALSE(FileExists(::testing::TempDir() + "/absent"));
}

TEST_F(ScoringRunTest, ResumingWithAnotherInputIsRefusedAndChangesNothing) {
  ASSERT_TRUE(Run(Rows(0, 10)).ok());
  const std::string before = *ReadFile(output_);
  const absl::Status other = Run(Rows(0, 5) + Rows(50, 60), /*resume=*/true);
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(other.message()), HasSubstr(":6: has the id 5 where line 6 of the input has 50"));
  EXPECT_THAT(std::string(Run(Rows(0, 9), true).message()), HasSubstr("beyond the input"));
  EXPECT_EQ(*ReadFile(output_), before);
  std::ofstream(output_) << "something else\n";
  EXPECT_THAT(std::string(Run(Rows(0, 9), true).message()), HasSubstr("is no result"));
}

class GroupsTest : public ScoringRunTest {
 protected:
  GroupsTest() { spec_.components.push_back({"length", 1, GroupLengthScorerSpec{"math"}}); }
  // Sizes of the batches, group by group.
  std::vector<size_t> Batches(const std::string& text) {
    std::ofstream(input_, std::ios::binary) << text;
    const auto source = *RowSource::Open(input_, spec_, -1);
    std::vector<size_t> out;
    while (true) {
      rows_ = *source->NextBatch();
      if (rows_.empty()) return out;
      out.push_back(rows_.size());
      for (const RewardRow& row : rows_) errors_ += !row.error.ok();
    }
  }
  static std::string Group(const std::string& name, int size) {
    std::string out;
    for (int i = 0; i < size; ++i) out += Row(i, absl::StrCat(", \"group\": \"", name, "\""));
    return out;
  }
  std::vector<RewardRow> rows_;
  int errors_ = 0;
};

TEST_F(GroupsTest, AreComparedWhenTheyAreWhole) {
  judge_ = [this](const ScoreItem& item) {
    return Compose(spec_, {RightWhenEqual(item).components[0], PendingGroupTerm(spec_.components[1])});
  };
  const auto row = [](const char* completion, const char* answer, const char* group) {
    return json{{"completion", completion}, {"answer", answer}, {"group", group}}.dump() + "\n";
  };
  ASSERT_TRUE(Run(row("1", "1", "a") + row("111", "111", "a") + row("\u00e9\u00e9", "\u00e9\u00e9", "a") +
                  row("1", "2", "a") + row("1", "1", "b"))
                  .ok());
  std::vector<double> terms, values;
  for (const json& out : Output()) {
    terms.push_back(out["components"][1]["value"]);
    values.push_back(out["value"]);
  }
  EXPECT_THAT(terms, ElementsAre(0.5, -0.5, 0, 0, 0));
  EXPECT_THAT(values, ElementsAre(1.5, 0.5, 1, 0, 1));
}

TEST_F(GroupsTest, AreNeverSplit) {
  EXPECT_THAT(Batches(Group("a", 60) + Group("b", 60) + Group("c", 3)), ElementsAre(120, 3));
  EXPECT_THAT(Batches(Group("a", 200) + Row(1) + Row(2)), ElementsAre(200, 2));
  EXPECT_EQ(errors_, 0);
}

TEST_F(GroupsTest, ThatComeAgainAreErrors) {
  EXPECT_THAT(Batches(Group("a", 2) + Group("b", 2) + Group("a", 1)), ElementsAre(5));
  EXPECT_EQ(errors_, 1);
}

TEST_F(GroupsTest, ThatWereCutOffAreJudgedAnewWhenResumed) {
  judge_ = [this](const ScoreItem& item) {
    return Compose(spec_, {RightWhenEqual(item).components[0], PendingGroupTerm(spec_.components[1])});
  };
  ASSERT_TRUE(Run(Group("a", 3) + Group("b", 2)).ok());
  std::ofstream(input_) << Group("a", 3) + Group("b", 4);
  const auto source = *RowSource::Open(input_, spec_, -1);
  RewardSummary summary(spec_);
  const auto done = source->SkipDone(output_, summary);
  ASSERT_TRUE(done.ok()) << done.status();
  EXPECT_EQ(summary.rows(), 3);
  EXPECT_EQ(done->rows, 3);
  EXPECT_EQ(source->NextBatch()->size(), 4u);
}

}  // namespace
}  // namespace sluice::cli
