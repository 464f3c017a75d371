#include "reward/expression_scorer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status.h"
#include "reward/expression.h"
#include "reward/math/number/rational_value.h"
#include "reward/math/parse/parser.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

constexpr size_t kMaxNumbers = 64;

struct Task {
  std::vector<mpq_class> numbers;  // sorted
  mpq_class target;
};

// The likeliest reading, where that is a rational number.
std::optional<mpq_class> ReadNumber(absl::string_view text) {
  absl::StatusOr<std::vector<math::Reading>> readings = math::ReadAnswer(text);
  if (!readings.ok() || readings->empty()) return std::nullopt;
  math::Work work;
  return math::RationalValue(readings->front().value, work);
}

// The members of a JSON list, or the words of a text.
std::vector<absl::string_view> MembersOf(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  if (!absl::ConsumePrefix(&text, "["))
    return absl::StrSplit(text, absl::ByAnyChar(" ,\t\n\r"), absl::SkipEmpty());
  if (!absl::ConsumeSuffix(&text, "]")) return {};
  std::vector<absl::string_view> out;
  for (absl::string_view member : absl::StrSplit(text, ',')) {
    member = absl::StripAsciiWhitespace(member);
    if (member.size() > 2 && member.front() == '"' && member.back() == '"')
      member = member.substr(1, member.size() - 2);
    out.push_back(member);
  }
  return out;
}

absl::StatusOr<std::vector<mpq_class>> ReadNumbers(const ScoreItem& item) {
  auto field = item.fields.find("numbers");
  if (field == item.fields.end()) field = item.fields.find("nums");
  if (field == item.fields.end()) return absl::InvalidArgumentError("the row has no field \"numbers\"");
  const std::vector<absl::string_view> members = MembersOf(field->second);
  std::vector<mpq_class> out;
  for (absl::string_view member : members) {
    std::optional<mpq_class> number = ReadDecimal(member);
    if (!number || out.size() == kMaxNumbers) break;
    out.push_back(*std::move(number));
  }
  if (!out.empty() && out.size() == members.size()) return out;
  return absl::InvalidArgumentError(
      absl::StrCat("the row's field \"", field->first, "\" ", Quotation(field->second), " is not 1 to ",
                   kMaxNumbers, " unsigned decimals, as a JSON list or with blanks between"));
}

absl::StatusOr<Task> ReadTask(const ScoreItem& item) {
  Task task;
  SLUICE_ASSIGN_OR_RETURN(task.numbers, ReadNumbers(item));
  std::sort(task.numbers.begin(), task.numbers.end());
  const auto target = item.fields.find("target");
  if (target == item.fields.end()) return absl::InvalidArgumentError("the row has no field \"target\"");
  std::optional<mpq_class> value = ReadNumber(target->second);
  if (!value) {
    return absl::InvalidArgumentError(
        absl::StrCat("the row's field \"target\" ", Quotation(target->second), " is not a number"));
  }
  task.target = *std::move(value);
  return task;
}

absl::string_view AnswerOf(absl::string_view completion) {
  constexpr absl::string_view kReasoned = "</think>", kOpen = "<answer>", kClose = "</answer>";
  const size_t reasoned = completion.rfind(kReasoned);
  if (reasoned != absl::string_view::npos) completion.remove_prefix(reasoned + kReasoned.size());
  const size_t open = completion.rfind(kOpen);
  if (open == absl::string_view::npos) return completion;
  completion.remove_prefix(open + kOpen.size());
  return completion.substr(0, completion.find(kClose));
}

std::string Listed(const std::vector<mpq_class>& numbers) {
  return absl::StrJoin(numbers, " ", [](std::string* out, const mpq_class& n) { out->append(n.get_str()); });
}

}  // namespace

ItemJudgement ExpressionItemScorer::Judge(const ScoreItem& item) const {
  absl::StatusOr<Task> task = ReadTask(item);
  if (!task.ok()) return InvalidRow(std::string(task.status().message()));
  const absl::string_view answer = AnswerOf(item.completion);
  const std::string written = Quotation(absl::StripAsciiWhitespace(answer));
  absl::StatusOr<ExpressionResult> result = EvaluateExpression(answer);
  if (!result.ok()) return Wrong(absl::StrCat(written, ": ", result.status().message()), "malformed");
  std::sort(result->numbers.begin(), result->numbers.end());
  if (result->numbers != task->numbers) {
    return Wrong(
        absl::StrCat(written, ": wrong numbers, not each of ", Quotation(Listed(task->numbers)), " once"),
        "wrong_numbers");
  }
  if (result->value == task->target) return Correct(absl::StrCat(written, " is right"), "right");
  return Wrong(absl::StrCat(written, ": wrong value ", Quotation(result->value.get_str())), "wrong_value");
}

}  // namespace sluice
