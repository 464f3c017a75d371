#include "reward/code/checker.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"
#include "reward/code/harness.h"
#include "reward/code/outcome.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

enum class Answer { kAccepted, kRejected, kFailed };
struct Checked {
  Answer answer = Answer::kFailed;
  std::string why;
};

// What is not UTF-8 is put as replacement characters.
TypedValue AsText(const std::string& output) {
  TypedValue text = TypedValue::Text(output);
  return DecodeTypedValue(EncodeTypedValue(text)).ok() ? text : TypedValue::Bytes(output);
}

absl::StatusOr<Checked> Check(const CodeScorerSpec& spec, const std::string& checker,
                              const CheckedOutput& output, JudgeBoxes& boxes) {
  SLUICE_ASSIGN_OR_RETURN(RowBox * row, boxes.row());
  TimedBox timed(row->Bare(), boxes.limits());
  SandboxBox* box = &timed;
  SLUICE_RETURN_IF_ERROR(box->WriteFile("input", output.input));
  SLUICE_RETURN_IF_ERROR(box->WriteFile("expected", output.expected));
  SLUICE_RETURN_IF_ERROR(box->WriteFile("actual", output.actual));
  SandboxLimits limits = RowLimits(spec);
  absl::Time deadline = absl::Now() + limits.wall + absl::Seconds(2);
  SLUICE_ASSIGN_OR_RETURN(HarnessRun run, HarnessRun::Start(*box, HarnessRole::kChecker, limits));
  TypedValue texts =
      TypedValue::Tuple({AsText(output.input), AsText(output.expected), AsText(output.actual)});
  absl::Status sent = run.channel().Send(
      TypedValue::Tuple({TypedValue::Text("check"), TypedValue::Text(checker), std::move(texts)}), deadline);
  absl::StatusOr<TypedValue> answer = sent.ok() ? run.channel().Receive(deadline) : sent;
  RunResult end = run.Stop();
  if (LimitOf(end) == outcome::kInfrastructure) return absl::InternalError(DescribeEnd(end));
  if (!answer.ok() || answer->items.size() != 2) return Checked{Answer::kFailed, DescribeEnd(end)};
  const TypedValue &kind = answer->items[0], &what = answer->items[1];
  if (kind.IsText("checked")) return Checked{what.integer ? Answer::kAccepted : Answer::kRejected, ""};
  return Checked{Answer::kFailed, what.text};
}

}  // namespace

absl::Status RecordChecked(const CodeScorerSpec& spec, const std::string& checker,
                           const CheckedOutput& output, JudgeBoxes& boxes, const RunResult& run,
                           JudgedProgram& judged) {
  SLUICE_ASSIGN_OR_RETURN(Checked checked, Check(spec, checker, output, boxes));
  if (checked.answer == Answer::kFailed) {
    CheckedOutput itself{output.input, output.expected, output.expected};
    SLUICE_ASSIGN_OR_RETURN(Checked sane, Check(spec, checker, itself, boxes));
    if (sane.answer == Answer::kFailed) {
      judged.undecided = absl::StrCat("field \"checker\": ", Quotation(sane.why));
      return absl::OkStatus();
    }
  }
  bool accepted = checked.answer == Answer::kAccepted;
  judged.tests.push_back(MakeResult(accepted ? outcome::kPassed : outcome::kWrongAnswer,
                                    accepted ? "" : "the checker rejects the output", run));
  return absl::OkStatus();
}

}  // namespace sluice
