#include "services/cli/reward/reward_row.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/printable.h"
#include "core/base/status.h"
#include "core/spec/text/json_rows.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "services/cli/verdict_json.h"
#include "services/wire/reward.h"
#include "services/wire/utf8.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

absl::Status Wrong(absl::string_view field, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", Printable(CutToCharacters(field, 80)), "\" ", what));
}

// Tells which member has the bytes that are no UTF-8: the JSON parser names only a column.
absl::Status CheckUtf8(const std::vector<RawMember>& members) {
  for (const RawMember& m : members) {
    const std::string valid = ToValidUtf8(m.value);
    if (valid == m.value) continue;
    const auto first = std::mismatch(m.value.begin(), m.value.end(), valid.begin()).first;
    return Wrong(m.name, absl::StrCat("is not valid UTF-8 (byte ", first - m.value.begin(), " of its text)"));
  }
  return absl::OkStatus();
}

absl::Status CheckNamedOnce(const std::vector<RawMember>& members) {
  std::set<absl::string_view> names;
  for (const RawMember& m : members) {
    if (!names.insert(m.name).second) return Wrong(m.name, "is given twice");
  }
  return absl::OkStatus();
}

absl::Status ReadTokenCount(const nlohmann::json& value, v1::ScoreItem& item) {
  if (!value.is_number_integer() || value < 0 || value > INT32_MAX)
    return Wrong("completion_tokens", "must be a number of tokens");
  item.set_completion_tokens(value.get<int32_t>());
  return absl::OkStatus();
}

absl::Status ReadMember(const RawMember& raw, const nlohmann::json& value, RewardRow& row) {
  if (raw.name == "id" || value.is_null()) return absl::OkStatus();
  if (raw.name == "completion_tokens") return ReadTokenCount(value, row.item);
  const std::string text = value.is_string() ? value.get<std::string>() : std::string(raw.value);
  if (raw.name == "group") {
    row.group = text;
  } else if (raw.name == "prompt" || raw.name == "completion") {
    if (!value.is_string()) return Wrong(raw.name, "must be text");
    (raw.name == "prompt" ? *row.item.mutable_prompt() : *row.item.mutable_completion()) = text;
  } else {
    (*row.item.mutable_fields())[raw.name] = text;
  }
  return absl::OkStatus();
}

absl::Status ReadRow(absl::string_view line, const std::optional<std::vector<RawMember>>& members,
                     bool needs_completion, RewardRow& row) {
  if (members) {
    SLUICE_RETURN_IF_ERROR(CheckUtf8(*members));
    SLUICE_RETURN_IF_ERROR(CheckNamedOnce(*members));
  }
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJsonRow(line));
  if (!members) return absl::InvalidArgumentError("malformed JSON");
  for (const RawMember& m : *members) SLUICE_RETURN_IF_ERROR(ReadMember(m, json[m.name], row));
  const auto completion = json.find("completion");
  if (needs_completion && (completion == json.end() || completion->is_null()))
    return Wrong("completion", "is missing");
  return FromProto(row.item).status();  // the limits of what a service takes
}

// A member's value as JSON, or the line's number.
Json IdOf(const std::optional<std::vector<RawMember>>& members, size_t number) {
  if (!members) return number;
  const auto named = [&](absl::string_view name) {
    return std::find_if(members->begin(), members->end(), [&](const auto& m) { return m.name == name; });
  };
  const auto id = named("id") != members->end() ? named("id") : named("task_id");
  if (id == members->end()) return number;
  Json value = Json::parse(id->value.begin(), id->value.end(), nullptr, /*allow_exceptions=*/false);
  return value.is_discarded() || value.is_null() ? Json(number) : value;
}

std::string LowerCaseName(v1::VerdictKind kind) { return absl::AsciiStrToLower(v1::VerdictKind_Name(kind)); }

std::string Digest(absl::string_view bytes) { return Sha256Hex(bytes).substr(0, 16); }

bool HasReward(v1::VerdictKind kind) {
  return kind == v1::CORRECT || kind == v1::WRONG || kind == v1::GRADED;
}

const v1::VerdictComponent* Deciding(const RewardSpec& spec, const v1::Verdict& verdict) {
  const auto& all = verdict.components();
  if (all.empty()) return nullptr;
  if (!HasReward(verdict.kind())) {
    const auto it =
        std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.kind() == verdict.kind(); });
    return it == all.end() ? nullptr : &*it;
  }
  const v1::VerdictComponent* out = nullptr;
  const bool sum = spec.combination == RewardCombination::kWeightedSum;
  for (int i = 0; i < all.size(); ++i) {
    const v1::VerdictComponent& c = all[i];
    if (static_cast<size_t>(i) < spec.components.size()) {
      const auto& gate = spec.components[static_cast<size_t>(i)].gate;
      if (gate && c.value() < *gate) return &c;
    }
    if (c.weight() == 0 && all.size() > 1) continue;
    const bool more =
        out == nullptr || (sum ? std::abs(c.weight()) > std::abs(out->weight()) : c.value() < out->value());
    if (more) out = &c;
  }
  return out == nullptr ? &all[0] : out;
}

Json ComponentRow(const v1::VerdictComponent& c) {
  Json out = {{"name", c.name()},
              {"verdict", v1::VerdictKind_Name(c.kind())},
              {"value", HasReward(c.kind()) ? Json(c.value()) : Json()},
              {"weight", c.weight()},
              {"class", c.outcome().empty() ? LowerCaseName(c.kind()) : c.outcome()},
              {"detail", c.detail()}};
  AddEvidence(c, "class", out);
  return out;
}

}  // namespace

std::string FingerprintOf(const RewardSpec& spec) {
  std::string bytes(SLUICE_VERSION "\n");
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    ToProto(spec).SerializeToCodedStream(&coded);
  }
  return Digest(bytes);
}

RewardRow ParseRewardRow(absl::string_view line, size_t number, bool needs_completion,
                         absl::string_view judge) {
  RewardRow row;
  row.line = number;
  row.fingerprint = absl::StrCat(judge, "-", Digest(line));
  const auto members = RawMembers(line);
  row.id = IdOf(members, number);
  row.error = ReadRow(line, members, needs_completion, row);
  if (!row.error.ok()) row.item.Clear();
  return row;
}

bool NeedsCompletion(const RewardSpec& spec) {
  return !std::all_of(spec.components.begin(), spec.components.end(), [](const RewardComponentSpec& c) {
    const auto* math = std::get_if<MathScorerSpec>(&c.scorer);
    return math != nullptr && math->mode == MathMode::kPair;
  });
}

bool RunsPrograms(const RewardSpec& spec) {
  return std::any_of(spec.components.begin(), spec.components.end(), [](const RewardComponentSpec& c) {
    return std::holds_alternative<CodeScorerSpec>(c.scorer);
  });
}

std::string DecidingClass(const RewardSpec& spec, const v1::Verdict& verdict) {
  const v1::VerdictComponent* component = Deciding(spec, verdict);
  if (component != nullptr && !component->outcome().empty()) return component->outcome();
  return LowerCaseName(verdict.kind());
}

Json VerdictRow(const RewardSpec& spec, const RewardRow& row, const v1::Verdict& verdict) {
  Json components = Json::array();
  for (const v1::VerdictComponent& c : verdict.components()) components.push_back(ComponentRow(c));
  const std::string deciding = DecidingClass(spec, verdict);
  Json out = {{"id", row.id},
              {"verdict", v1::VerdictKind_Name(verdict.kind())},
              {"value", HasReward(verdict.kind()) ? Json(verdict.value()) : Json()},
              {"class", deciding},
              {"components", std::move(components)},
              {"detail", verdict.detail()},
              {"seconds", verdict.seconds()},
              {"fingerprint", row.fingerprint}};
  if (deciding == kInvalidRow) {
    out["error"] = verdict.detail();
    out["line"] = row.line;
  }
  return out;
}

Json ErrorRow(const RewardRow& row) {
  const std::string what = ToValidUtf8(row.error.message());
  return {{"id", row.id},
          {"verdict", v1::VerdictKind_Name(v1::UNDECIDED)},
          {"value", Json()},
          {"class", kInvalidRow},
          {"components", Json::array()},
          {"detail", what},
          {"seconds", 0.0},
          {"fingerprint", row.fingerprint},
          {"error", what},
          {"line", row.line}};
}

}  // namespace sluice::cli
