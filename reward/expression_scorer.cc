#include "reward/expression_scorer.h"

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status.h"
#include "reward/expression.h"
#include "reward/math/parser.h"
#include "reward/math/rational_value.h"
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

absl::StatusOr<Task> ReadTask(const ScoreItem& item) {
  auto numbers = item.fields.find("numbers");
  auto target = item.fields.find("target");
  if (numbers == item.fields.end()) return absl::InvalidArgumentError("the prompt has no field \"numbers\"");
  if (target == item.fields.end()) return absl::InvalidArgumentError("the prompt has no field \"target\"");
  Task task;
  for (absl::string_view word :
       absl::StrSplit(numbers->second, absl::ByAnyChar(" \t\n\r"), absl::SkipEmpty())) {
    std::optional<mpq_class> number = ReadDecimal(word);
    if (!number || task.numbers.size() == kMaxNumbers) {
      return absl::InvalidArgumentError(absl::StrCat("the prompt's numbers ", Quotation(numbers->second),
                                                     " are not 1 to ", kMaxNumbers,
                                                     " decimals with spaces between"));
    }
    task.numbers.push_back(*std::move(number));
  }
  if (task.numbers.empty()) return absl::InvalidArgumentError("the prompt's field \"numbers\" is empty");
  std::sort(task.numbers.begin(), task.numbers.end());
  std::optional<mpq_class> value = ReadNumber(target->second);
  if (!value) {
    return absl::InvalidArgumentError(
        absl::StrCat("the prompt's target ", Quotation(target->second), " is not a number"));
  }
  task.target = *std::move(value);
  return task;
}

}  // namespace

ItemJudgement ExpressionItemScorer::Judge(const ScoreItem& item) const {
  absl::StatusOr<Task> task = ReadTask(item);
  if (!task.ok()) return InvalidRow(std::string(task.status().message()));
  std::string written = Quotation(absl::StripAsciiWhitespace(item.completion));
  absl::StatusOr<ExpressionResult> result = EvaluateExpression(item.completion);
  if (!result.ok()) return Wrong(absl::StrCat(written, ": ", result.status().message()));
  std::sort(result->numbers.begin(), result->numbers.end());
  if (result->numbers != task->numbers) {
    return Wrong(absl::StrCat(written, ": wrong numbers, not each of ", Quotation(item.fields.at("numbers")),
                              " once"));
  }
  if (result->value == task->target) return Correct(absl::StrCat(written, " is right"));
  return Wrong(absl::StrCat(written, ": wrong value ", Quotation(result->value.get_str())));
}

}  // namespace sluice
