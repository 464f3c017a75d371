#include "services/wire/scorer_spec.h"

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status.h"
#include "google/protobuf/descriptor.h"

namespace sluice {
namespace {

// The pairs of an enum's values; the first with a given value wins, so an UNSPECIFIED that means another
// stands after it.
template <typename Proto, typename Enum>
struct EnumPairs {
  absl::string_view field;
  std::initializer_list<std::pair<Proto, Enum>> pairs;
};

template <typename Proto, typename Enum>
absl::Status Read(const EnumPairs<Proto, Enum>& table, Proto proto, Enum& out) {
  for (const auto& [from, to] : table.pairs) {
    if (from != proto) continue;
    out = to;
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      static_cast<int>(proto) == 0 ? absl::StrCat(table.field, ": is needed")
                                   : absl::StrCat(table.field, ": unknown value ", static_cast<int>(proto)));
}

template <typename Proto, typename Enum>
Proto Write(const EnumPairs<Proto, Enum>& table, Enum value) {
  for (const auto& [to, from] : table.pairs) {
    if (from == value) return to;
  }
  return Proto{};
}

const EnumPairs<v1::MathScorer::Mode, MathMode> kMathMode{
    "math.mode",
    {{v1::MathScorer::COMPLETION, MathMode::kCompletion},
     {v1::MathScorer::MODE_UNSPECIFIED, MathMode::kCompletion},
     {v1::MathScorer::PAIR, MathMode::kPair}}};
const EnumPairs<v1::LengthScorer::Unit, LengthUnit> kLengthUnit{
    "length.unit",
    {{v1::LengthScorer::CHARACTERS, LengthUnit::kCharacters},
     {v1::LengthScorer::UNIT_UNSPECIFIED, LengthUnit::kCharacters},
     {v1::LengthScorer::TOKENS, LengthUnit::kTokens}}};
const EnumPairs<v1::CodeScorer::Language, CodeLanguage> kLanguage{
    "code.language",
    {{v1::CodeScorer::PYTHON, CodeLanguage::kPython}, {v1::CodeScorer::CPP, CodeLanguage::kCpp}}};
const EnumPairs<v1::CodeScorer::Tests, CodeTests> kTests{
    "code.tests",
    {{v1::CodeScorer::ASSERTS, CodeTests::kAsserts},
     {v1::CodeScorer::STDIO, CodeTests::kStdio},
     {v1::CodeScorer::FUNCTION, CodeTests::kFunction},
     {v1::CodeScorer::HUMANEVAL, CodeTests::kHumanEval}}};
const EnumPairs<v1::CodeScorer::Comparison, CodeComparison> kComparison{
    "code.comparison",
    {{v1::CodeScorer::EXACT, CodeComparison::kExact},
     {v1::CodeScorer::TOKENS, CodeComparison::kTokens},
     {v1::CodeScorer::NUMERIC, CodeComparison::kNumeric},
     {v1::CodeScorer::UNORDERED, CodeComparison::kUnordered},
     {v1::CodeScorer::CHECKER, CodeComparison::kChecker}}};
const EnumPairs<v1::CodeScorer::Credit, CodeCredit> kCredit{
    "code.credit",
    {{v1::CodeScorer::ALL, CodeCredit::kAll},
     {v1::CodeScorer::CREDIT_UNSPECIFIED, CodeCredit::kAll},
     {v1::CodeScorer::SHARE, CodeCredit::kShare}}};

bool ComparesOutputs(CodeTests tests) { return tests == CodeTests::kStdio || tests == CodeTests::kFunction; }

absl::Status ReadComparison(const v1::CodeScorer& proto, CodeScorerSpec& out) {
  if (proto.comparison() != v1::CodeScorer::COMPARISON_UNSPECIFIED) {
    if (!ComparesOutputs(out.tests))
      return absl::InvalidArgumentError("code.comparison: is for STDIO and FUNCTION tests only");
    return Read(kComparison, proto.comparison(), out.comparison);
  }
  out.comparison = out.tests == CodeTests::kFunction ? CodeComparison::kExact : CodeComparison::kTokens;
  return absl::OkStatus();
}

absl::StatusOr<ScorerSpec> ReadCode(const v1::CodeScorer& proto) {
  CodeScorerSpec out;
  SLUICE_RETURN_IF_ERROR(Read(kLanguage, proto.language(), out.language));
  SLUICE_RETURN_IF_ERROR(Read(kTests, proto.tests(), out.tests));
  SLUICE_RETURN_IF_ERROR(ReadComparison(proto, out));
  SLUICE_RETURN_IF_ERROR(Read(kCredit, proto.credit(), out.credit));
  if (proto.has_absolute_tolerance()) out.absolute_tolerance = proto.absolute_tolerance();
  if (proto.has_relative_tolerance()) out.relative_tolerance = proto.relative_tolerance();
  if (proto.has_timeout()) out.timeout_seconds = proto.timeout();
  if (proto.has_memory_bytes()) out.memory_bytes = proto.memory_bytes();
  if (proto.has_max_tests()) out.max_tests = proto.max_tests();
  if (proto.has_output_bytes()) out.output_bytes = proto.output_bytes();
  return out;
}

RemoteScorerSpec ReadRemote(const v1::RemoteScorer& proto) {
  RemoteScorerSpec out;
  out.service = proto.service();
  out.parameters.insert(proto.parameter().begin(), proto.parameter().end());
  if (proto.has_timeout()) out.timeout_seconds = proto.timeout();
  if (proto.max_attempts() != 0) out.max_attempts = proto.max_attempts();
  if (proto.max_batch() != 0) out.max_batch = proto.max_batch();
  out.expect_version = proto.expect_version();
  return out;
}

// One overload for each scorer.
struct Writer {
  v1::RewardComponent& out;

  void operator()(const MathScorerSpec& s) const { out.mutable_math()->set_mode(Write(kMathMode, s.mode)); }
  void operator()(const ExpressionScorerSpec&) const { out.mutable_expression(); }
  void operator()(const RegexScorerSpec& s) const { out.mutable_regex()->set_pattern(s.pattern); }
  void operator()(const LengthScorerSpec& s) const {
    out.mutable_length()->set_soft_limit(s.soft_limit);
    out.mutable_length()->set_hard_limit(s.hard_limit);
    out.mutable_length()->set_unit(Write(kLengthUnit, s.unit));
  }
  void operator()(const CodeScorerSpec& s) const {
    v1::CodeScorer& code = *out.mutable_code();
    code.set_language(Write(kLanguage, s.language));
    code.set_tests(Write(kTests, s.tests));
    if (ComparesOutputs(s.tests)) code.set_comparison(Write(kComparison, s.comparison));
    code.set_absolute_tolerance(s.absolute_tolerance);
    code.set_relative_tolerance(s.relative_tolerance);
    code.set_timeout(s.timeout_seconds);
    code.set_memory_bytes(s.memory_bytes);
    code.set_credit(Write(kCredit, s.credit));
    code.set_max_tests(s.max_tests);
    code.set_output_bytes(s.output_bytes);
  }
  void operator()(const TagsScorerSpec& s) const {
    for (const std::string& tag : s.tags) out.mutable_tags()->add_tag(tag);
    out.mutable_tags()->set_nothing_outside(s.nothing_outside);
    out.mutable_tags()->set_all_or_nothing(s.all_or_nothing);
  }
  void operator()(const RepetitionScorerSpec& s) const {
    out.mutable_repetition()->set_ngram(s.ngram);
    out.mutable_repetition()->set_scale(s.scale);
  }
  void operator()(const LanguageScorerSpec& s) const { out.mutable_language()->set_language(s.language); }
  void operator()(const RemoteScorerSpec& s) const {
    v1::RemoteScorer& remote = *out.mutable_remote();
    remote.set_service(s.service);
    remote.mutable_parameter()->insert(s.parameters.begin(), s.parameters.end());
    remote.set_timeout(s.timeout_seconds);
    remote.set_max_attempts(s.max_attempts);
    remote.set_max_batch(s.max_batch);
    remote.set_expect_version(s.expect_version);
  }
  void operator()(const GroupLengthScorerSpec& s) const {
    out.mutable_group_length()->set_correct_by(s.correct_by);
  }
};

}  // namespace

void WriteScorer(const ScorerSpec& spec, v1::RewardComponent& out) { std::visit(Writer{out}, spec); }

absl::StatusOr<ScorerSpec> ReadScorer(const v1::RewardComponent& proto) {
  switch (proto.scorer_case()) {
    case v1::RewardComponent::kMath: {
      MathScorerSpec math;
      SLUICE_RETURN_IF_ERROR(Read(kMathMode, proto.math().mode(), math.mode));
      return math;
    }
    case v1::RewardComponent::kExpression:
      return ExpressionScorerSpec{};
    case v1::RewardComponent::kRegex:
      return RegexScorerSpec{proto.regex().pattern()};
    case v1::RewardComponent::kLength: {
      LengthScorerSpec length{proto.length().soft_limit(), proto.length().hard_limit()};
      SLUICE_RETURN_IF_ERROR(Read(kLengthUnit, proto.length().unit(), length.unit));
      return length;
    }
    case v1::RewardComponent::kCode:
      return ReadCode(proto.code());
    case v1::RewardComponent::kTags:
      return TagsScorerSpec{{proto.tags().tag().begin(), proto.tags().tag().end()},
                            proto.tags().nothing_outside(),
                            proto.tags().all_or_nothing()};
    case v1::RewardComponent::kRepetition: {
      RepetitionScorerSpec repetition;
      if (proto.repetition().ngram() != 0) repetition.ngram = proto.repetition().ngram();
      if (proto.repetition().has_scale()) repetition.scale = proto.repetition().scale();
      return repetition;
    }
    case v1::RewardComponent::kLanguage:
      return LanguageScorerSpec{proto.language().language()};
    case v1::RewardComponent::kRemote:
      return ReadRemote(proto.remote());
    case v1::RewardComponent::kGroupLength:
      return GroupLengthScorerSpec{proto.group_length().correct_by()};
    case v1::RewardComponent::SCORER_NOT_SET:
      break;
  }
  std::vector<std::string> names;
  const google::protobuf::OneofDescriptor& scorers =
      *v1::RewardComponent::GetDescriptor()->FindOneofByName("scorer");
  for (int i = 0; i < scorers.field_count(); ++i) names.push_back(scorers.field(i)->name());
  return absl::InvalidArgumentError(absl::StrCat("scorer: one is needed of ", absl::StrJoin(names, ", ")));
}

}  // namespace sluice
