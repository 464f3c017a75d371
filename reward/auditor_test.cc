#include "reward/auditor.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/text_serializer.h"

namespace sluice {
namespace {

using testing::HasSubstr;

// Right when the completion says so, whatever was asked.
class LiteralScorer final : public ItemScorer {
 public:
  ItemJudgement Judge(const ScoreItem& item) const override {
    if (item.completion == "throw") throw std::runtime_error("broken");
    if (item.completion == "unsure") return Undecided("?");
    return item.completion == "right" ? Correct("read") : Wrong("read");
  }
};

class AuditorTest : public testing::Test {
 protected:
  static ScorerRegistry Second() {
    ScorerRegistry registry;
    EXPECT_TRUE(registry
                    .Register("math",
                              [](const ScorerSpec&) -> absl::StatusOr<std::unique_ptr<ItemScorer>> {
                                return std::make_unique<LiteralScorer>();
                              })
                    .ok());
    return registry;
  }
  void Observe(Auditor& auditor, const std::string& completion, VerdictKind kind,
               const ScorerSpec& scorer = MathScorerSpec{}) {
    ScoreItem item;
    item.completion = completion;
    item.fields["answer"] = "42";
    Verdict verdict;
    verdict.kind = kind;
    verdict.components = {{"m", kind, 0, 1, "first"}};
    auditor.Observe({{{"m", 1, scorer}}}, item, verdict);
  }
  std::string Audits(const std::string& result) {
    const std::string text = prometheus::TextSerializer().Serialize(metrics_.Collect());
    const std::string key = "{scorer=\"math\",result=\"" + result + "\"} ";
    const std::string other = "{result=\"" + result + "\",scorer=\"math\"} ";
    size_t at = text.find(key);
    if (at == std::string::npos) at = text.find(other);
    if (at == std::string::npos) return "absent";
    at = text.find("} ", at) + 2;
    return text.substr(at, text.find('\n', at) - at);
  }
  prometheus::Registry metrics_;
};

TEST_F(AuditorTest, CountsAndLogsWhatTheSecondVerdictSays) {
  Auditor auditor(Second(), {.share = 1}, metrics_);
  EXPECT_EQ(Audits("disagree"), "0");
  testing::internal::CaptureStderr();
  Observe(auditor, "right", VerdictKind::kCorrect);
  Observe(auditor, "wrong", VerdictKind::kWrong);
  Observe(auditor, "wrong", VerdictKind::kCorrect);
  Observe(auditor, "unsure", VerdictKind::kCorrect);
  Observe(auditor, "throw", VerdictKind::kCorrect);
  Observe(auditor, "right", VerdictKind::kUndecided);                    // not audited
  Observe(auditor, "right", VerdictKind::kGraded);                       // not audited
  Observe(auditor, "right", VerdictKind::kWrong, RegexScorerSpec{"a"});  // not audited
  auditor.Drain();
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(Audits("agree"), "2");
  EXPECT_EQ(Audits("disagree"), "1");
  EXPECT_EQ(Audits("undecided"), "2");
  EXPECT_THAT(log, HasSubstr("audit_disagrees"));
  EXPECT_THAT(log, HasSubstr("verdict=correct"));
  EXPECT_THAT(log, HasSubstr("second=wrong"));
}

TEST_F(AuditorTest, AuditsTheShareThatIsAskedFor) {
  Auditor none(Second(), {.share = 0}, metrics_);
  for (int i = 0; i < 100; ++i) Observe(none, "right", VerdictKind::kCorrect);
  none.Drain();
  EXPECT_EQ(Audits("agree"), "0");
  prometheus::Registry metrics;
  Auditor some(Second(), {.share = 0.25, .max_waiting = 100000}, metrics_);
  for (int i = 0; i < 4000; ++i) Observe(some, "right", VerdictKind::kCorrect);
  some.Drain();
  const int audited = std::stoi(Audits("agree"));
  EXPECT_GT(audited, 800);  // 1000 expected, standard deviation 27
  EXPECT_LT(audited, 1200);
}

}  // namespace
}  // namespace sluice
