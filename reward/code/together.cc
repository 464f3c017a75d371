#include "reward/code/together.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/hash.h"
#include "core/base/status.h"
#include "reward/code/harness.h"
#include "reward/code/message_channel.h"
#include "reward/code/outcome.h"
#include "reward/code/secret.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

TypedValue Order(const TogetherTest& test, const std::string& key) {
  std::vector<TypedValue> sources;
  for (const std::string& source : test.sources) sources.push_back(TypedValue::Text(source));
  return TypedValue::Tuple({TypedValue::Bytes(key), TypedValue::List(std::move(sources)),
                            TypedValue::Text(test.setup), TypedValue::Text(test.test),
                            TypedValue::Text(test.prompt), TypedValue::Text(test.entry_point)});
}

bool Proves(const TypedValue& message, const std::string& key) {
  return Says(message, "proof", 2) &&
         absl::BytesToHexString(message.items[1].text) == Sha256Hex(key + "passed");
}

}  // namespace

absl::StatusOr<TestResult> JudgeTogether(const TogetherTest& test, const SandboxLimits& limits,
                                         SandboxBox& box) {
  SLUICE_ASSIGN_OR_RETURN(HarnessRun run, HarnessRun::Start(box, HarnessRole::kTogether, limits));
  absl::Time deadline = absl::Now() + limits.wall + absl::Seconds(2);
  std::string key = FreshSecret();
  absl::Status sent = run.channel().Send(Order(test, key), deadline);
  absl::StatusOr<TypedValue> answer = sent.ok() ? run.channel().Receive(deadline) : sent;
  RunResult end = run.Stop();
  if (LimitOf(end) == outcome::kInfrastructure) return absl::InternalError(DescribeEnd(end));
  if (answer.ok() && Proves(*answer, key)) return MakeResult(outcome::kPassed, "", end);
  if (!LimitOf(end).empty()) return MakeResult(LimitOf(end), DescribeEnd(end), end);
  if (!answer.ok()) {
    return MakeResult(outcome::kRuntimeError,
                      absl::StrCat("the program ended before the test did: ", DescribeEnd(end)), end);
  }
  if (TextAt(*answer, 0) == "broken")
    return MakeResult(outcome::kCompileError, Quotation(TextAt(*answer, 1)), end);
  if (TextAt(*answer, 0) == "end" && TextAt(*answer, 1) == "failed") {
    return MakeResult(outcome::kWrongAnswer, "AssertionError", end);
  }
  return MakeResult(outcome::kRuntimeError, "an exception in program or test", end);
}

}  // namespace sluice
