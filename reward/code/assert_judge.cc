#include "reward/code/assert_judge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "reward/code/harness.h"
#include "reward/code/message_channel.h"
#include "reward/code/outcome.h"
#include "reward/code/together.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

constexpr absl::Duration kGrace = absl::Seconds(2);  // of a reply after the sandbox's own limits

TypedValue Texts(const std::vector<std::string>& texts) {
  std::vector<TypedValue> items;
  for (const std::string& text : texts) items.push_back(TypedValue::Text(text));
  return TypedValue::List(std::move(items));
}

class AssertJudge {
 public:
  AssertJudge(const CodeScorerSpec& spec, const AssertJob& job, JudgeBoxes& boxes)
      : spec_(spec), job_(job), boxes_(boxes), limits_(TestLimits(spec)) {}

  absl::StatusOr<JudgedProgram> Judge() {
    while (judged_.tests.size() < job_.tests.size() && judged_.undecided.empty()) {
      SLUICE_RETURN_IF_ERROR(RunTests());
    }
    return std::move(judged_);
  }

 private:
  size_t next() const { return judged_.tests.size(); }

  // Runs tests from the next one on, until they are done or the process that runs them is lost.
  absl::Status RunTests() {
    SLUICE_ASSIGN_OR_RETURN(row_, boxes_.row());
    SLUICE_RETURN_IF_ERROR(StartCandidate());
    auto message = Begin();
    if (!message.ok()) {  // what tests of another row left behind may be to blame
      row_->StopTests();
      message = Begin();
    }
    while (message.ok() && IsBegin(*message)) {
      SLUICE_ASSIGN_OR_RETURN(bool goes_on, RunTest());
      if (goes_on && next() == job_.tests.size()) return absl::OkStatus();
      if (!goes_on || GivesUp(spec_, job_.tests.size(), judged_)) return Abandon();
      message = tests_->channel().Receive(Deadline());
    }
    if (message.ok() && Says(*message, "broken", 2)) {
      judged_.undecided = absl::StrCat("the row's tests: ", TextAt(*message, 1));
      return absl::OkStatus();
    }
    return RowFailure(row_->StopTests());
  }

  // Hands the row's tests over and waits for the first to begin.
  absl::StatusOr<TypedValue> Begin() {
    SLUICE_ASSIGN_OR_RETURN(tests_, row_->Tests(RowLimits(spec_).memory_bytes, boxes_.limits().cancel));
    serial_ = row_->NextSerial();
    TypedValue order = TypedValue::Tuple(
        {TypedValue::Integer(static_cast<int64_t>(next())), TypedValue::Text(job_.setup), Texts(job_.tests),
         TypedValue::Text(job_.prompt), TypedValue::Text(job_.entry_point), TypedValue::Integer(serial_)});
    SLUICE_RETURN_IF_ERROR(tests_->channel().Send(order, Deadline()));
    SLUICE_ASSIGN_OR_RETURN(TypedValue message, tests_->channel().Receive(Deadline()));
    if (IsBegin(message) || Says(message, "broken", 2)) return message;
    return absl::InternalError("an answer that belongs to other tests");
  }

  bool IsBegin(const TypedValue& message) const {
    return Says(message, "begin", 2) && message.items[1].kind == TypedValue::kInteger &&
           message.items[1].integer == serial_;
  }

  // The process of the tests waits where it is not needed any more.
  absl::Status Abandon() {
    row_->StopTests();
    return absl::OkStatus();
  }

  absl::Status StartCandidate() {
    SLUICE_ASSIGN_OR_RETURN(SandboxBox * box, boxes_.candidate());
    SLUICE_ASSIGN_OR_RETURN(candidate_, HarnessRun::Start(*box, HarnessRole::kCandidate, limits_));
    begun_ = absl::Now();
    answer_failure_ = absl::OkStatus();
    // A failure shows when the answer is read.
    (void)candidate_->channel().Send(TypedValue::Tuple({TypedValue::Text("module"), Texts(job_.sources)}),
                                     Deadline());
    return absl::OkStatus();
  }

  absl::Time Deadline() const { return std::min(begun_ + limits_.wall, boxes_.limits().deadline) + kGrace; }

  // One test; whether the process of the tests can go on with the next.
  absl::StatusOr<bool> RunTest() {
    if (!candidate_) {
      SLUICE_RETURN_IF_ERROR(StartCandidate());
    }
    auto offered = candidate_->channel().Receive(Deadline());
    if (!offered.ok() || !Says(*offered, "loaded", 2)) {
      SLUICE_RETURN_IF_ERROR(LoadFailure(offered));
      return tests_->channel().Send(TypedValue::Tuple({TypedValue::Text("stop")}), Deadline()).ok();
    }
    absl::Status sent = tests_->channel().Send(*offered, Deadline());
    absl::StatusOr<TypedValue> end = sent.ok() ? Relay() : sent;
    RunResult run = candidate_->Stop();
    candidate_.reset();
    if (!end.ok()) {
      SLUICE_RETURN_IF_ERROR(TestLost(end.status(), run, row_->StopTests()));
      return false;
    }
    SLUICE_RETURN_IF_ERROR(Record(*end, run));
    return judged_.undecided.empty();
  }

  // Hands calls and answers over until the test ends; its last message.
  absl::StatusOr<TypedValue> Relay() {
    bool lost = false;
    while (true) {
      SLUICE_ASSIGN_OR_RETURN(TypedValue request, tests_->channel().Receive(Deadline()));
      if (Says(request, "end", 3)) return request;
      TypedValue answer = TypedValue::Tuple({TypedValue::Text("lost")});
      if (!lost) {
        auto got = Ask(request);
        lost = !got.ok();
        if (got.ok()) answer = *std::move(got);
      }
      SLUICE_RETURN_IF_ERROR(tests_->channel().Send(answer, Deadline()));
    }
  }

  absl::StatusOr<TypedValue> Ask(const TypedValue& request) {
    MessageChannel& channel = candidate_->channel();
    SLUICE_RETURN_IF_ERROR(channel.Send(request, Deadline()));
    auto answer = channel.Receive(Deadline());
    if (answer.ok() && !Says(*answer, "value", 5) && !Says(*answer, "raise", 4)) {
      answer = absl::InvalidArgumentError("an answer that is neither value nor exception");
    }
    if (!answer.ok()) answer_failure_ = answer.status();
    return answer;
  }

  // The program could not be loaded: no test would find another state.
  absl::Status LoadFailure(const absl::StatusOr<TypedValue>& answer) {
    RunResult run = candidate_->Stop();
    candidate_.reset();
    if (LimitOf(run) == outcome::kInfrastructure) return absl::InternalError(DescribeEnd(run));
    TestResult result;
    if (answer.ok() && Says(*answer, "broken", 2)) {
      result = MakeResult(outcome::kCompileError, Quotation(TextAt(*answer, 1)), run);
    } else if (answer.ok() && Says(*answer, "failed", 4)) {
      result = ExceptionResult(*answer, run);
    } else {
      absl::string_view limit = LimitOf(run);
      result = MakeResult(limit.empty() ? outcome::kRuntimeError : limit,
                          absl::StrCat("the program ended while it was loaded: ", DescribeEnd(run)), run);
    }
    FillResults(job_.tests.size(), result, judged_);
    return absl::OkStatus();
  }

  static TestResult ExceptionResult(const TypedValue& message, const RunResult& run) {
    const TypedValue& names = message.items[1];
    std::string name = TextAt(names, 0);
    std::string text = TextAt(message, 3);
    absl::string_view limit = LimitOf(run);
    return MakeResult(limit.empty() ? OutcomeOfException(name, text) : limit,
                      absl::StrCat("when it was loaded: ", Quotation(absl::StrCat(name, ": ", text))), run);
  }

  // The process of the tests did not say how the test ended.
  absl::Status TestLost(const absl::Status& why, const RunResult& run, const RunResult& row) {
    if (LimitOf(run) == outcome::kInfrastructure) return absl::InternalError(DescribeEnd(run));
    absl::string_view limit = LimitOf(run);
    if (limit.empty()) limit = LimitOf(row);
    if (limit.empty() && absl::IsDeadlineExceeded(why)) limit = outcome::kTimeLimit;
    if (limit.empty() || limit == outcome::kInfrastructure) return RowFailure(row);
    judged_.tests.push_back(MakeResult(limit, "while the test used the program's values", run));
    return absl::OkStatus();
  }

  absl::Status Record(const TypedValue& end, const RunResult& run) {
    std::string how = TextAt(end, 2), text = TextAt(end, 3);
    if (LimitOf(run) == outcome::kInfrastructure) return absl::InternalError(DescribeEnd(run));
    if (how == "broken") {
      judged_.undecided = absl::StrCat("the row's tests: ", text);
    } else if (how == "unsupported") {
      SLUICE_ASSIGN_OR_RETURN(TestResult result, RunTogether(text));
      judged_.tests.push_back(std::move(result));
    } else if (how == "passed") {
      judged_.tests.push_back(MakeResult(outcome::kPassed, "", run));
    } else {
      judged_.tests.push_back(Failed(how, text, run));
    }
    return absl::OkStatus();
  }

  TestResult Failed(const std::string& how, const std::string& text, const RunResult& run) {
    absl::string_view limit = LimitOf(run);
    if (!limit.empty()) return MakeResult(limit, DescribeEnd(run), run);
    if (how == "failed") return MakeResult(outcome::kWrongAnswer, text, run);
    if (how == "raised") {
      size_t colon = text.find(": ");
      absl::string_view rest = colon == std::string::npos ? "" : absl::string_view(text).substr(colon + 2);
      return MakeResult(OutcomeOfException(text.substr(0, colon), rest), Quotation(text), run);
    }
    if (absl::IsResourceExhausted(answer_failure_) || absl::IsInvalidArgument(answer_failure_)) {
      bool too_long = absl::IsResourceExhausted(answer_failure_);
      return MakeResult(too_long ? outcome::kOutputLimit : outcome::kWrongAnswer,
                        std::string(answer_failure_.message()), run);
    }
    bool late = absl::IsDeadlineExceeded(answer_failure_);
    return MakeResult(late ? outcome::kTimeLimit : outcome::kRuntimeError,
                      absl::StrCat("the program ended before the test did: ", DescribeEnd(run)), run);
  }

  absl::StatusOr<TestResult> RunTogether(const std::string& why) {
    judged_.tests_visible = true;
    SLUICE_ASSIGN_OR_RETURN(SandboxBox * box, boxes_.candidate());
    TogetherTest test{job_.sources, job_.setup, job_.tests[next()], job_.prompt, job_.entry_point};
    SLUICE_ASSIGN_OR_RETURN(TestResult result, JudgeTogether(test, limits_, *box));
    result.detail = absl::StrCat(why, result.detail.empty() ? "" : "; ", result.detail);
    return result;
  }

  static absl::Status RowFailure(const RunResult& run) {
    return absl::InternalError(absl::StrCat("the process of the tests failed: ", DescribeEnd(run)));
  }

  const CodeScorerSpec& spec_;
  const AssertJob& job_;
  JudgeBoxes& boxes_;
  const SandboxLimits limits_;
  RowBox* row_ = nullptr;        // of boxes_
  HarnessRun* tests_ = nullptr;  // of row_
  int64_t serial_ = 0;           // of the order that tests_ works on
  JudgedProgram judged_;
  std::optional<HarnessRun> candidate_;
  absl::Time begun_;
  absl::Status answer_failure_;
};

}  // namespace

absl::StatusOr<JudgedProgram> JudgeByAsserts(const CodeScorerSpec& spec, const AssertJob& job,
                                             JudgeBoxes& boxes) {
  return AssertJudge(spec, job, boxes).Judge();
}

}  // namespace sluice
