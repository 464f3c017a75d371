#include "services/cli/job_file.h"

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/file.h"
#include "core/base/status.h"
#include "google/protobuf/text_format.h"
#include "re2/re2.h"
#include "services/cli/message/message_file.h"
#include "services/cli/message/mistake.h"
#include "services/cli/message/text_check.h"

namespace sluice::cli {
namespace {

using google::protobuf::TextFormat;

constexpr int64_t kMaxJobBytes = 4 << 20;

struct Target {
  google::protobuf::Message* message;
  const google::protobuf::FieldDescriptor* field;
  int index = -1;  // in a repeated field; -1: the whole
};

absl::Status OverrideError(const std::string& assignment, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("--set ", assignment, ": ", what));
}

// One name of the path: "component[0]".
absl::StatusOr<Target> Step(google::protobuf::Message* message, absl::string_view name,
                            const std::string& assignment) {
  Target target{message, nullptr};
  std::string field_name(name);
  static const RE2* const kIndexed = new RE2(R"((\w+)\[(\d{1,6})\])");
  int index = -1;
  if (RE2::FullMatch(std::string(name), *kIndexed, &field_name, &index)) target.index = index;
  target.field = message->GetDescriptor()->FindFieldByName(field_name);
  if (target.field == nullptr)
    return OverrideError(assignment, NoSuchField(*message->GetDescriptor(), field_name));
  if (target.field->is_map()) {
    return OverrideError(assignment, absl::StrCat(field_name,
                                                  " is a map, which --set cannot set: write its "
                                                  "entries in the job file, each as ",
                                                  field_name, " { key: 5 value: 1.5 }"));
  }
  if (target.index >= 0 && !target.field->is_repeated()) return OverrideError(assignment, "not a list");
  if (target.index >= 0 && target.index >= message->GetReflection()->FieldSize(*message, target.field)) {
    return OverrideError(assignment, absl::StrCat("the list ", field_name, " has no element ", target.index));
  }
  return target;
}

absl::StatusOr<google::protobuf::Message*> Enter(const Target& target, const std::string& assignment) {
  const auto* reflection = target.message->GetReflection();
  if (target.field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) {
    return OverrideError(assignment, absl::StrCat(target.field->name(), " has no members"));
  }
  if (!target.field->is_repeated()) return reflection->MutableMessage(target.message, target.field);
  if (target.index < 0) {
    return OverrideError(
        assignment, absl::StrCat(target.field->name(), " is a list: write ", target.field->name(), "[0]"));
  }
  return reflection->MutableRepeatedMessage(target.message, target.field, target.index);
}

// Parses the value as text format would, and puts it in the field's place.
absl::Status Assign(const Target& target, const std::string& value, const std::string& assignment) {
  using Field = google::protobuf::FieldDescriptor;
  const bool is_text = target.field->cpp_type() == Field::CPPTYPE_STRING;
  const bool is_message = target.field->cpp_type() == Field::CPPTYPE_MESSAGE;
  if (target.index >= 0 && !is_message)
    return OverrideError(assignment, "single elements of a list of values cannot be set");
  const auto* reflection = target.message->GetReflection();
  TextMistakes errors("value");
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  bool ok = true;
  if (is_message) {
    SLUICE_ASSIGN_OR_RETURN(google::protobuf::Message * child, Enter(target, assignment));
    child->Clear();
    ok = parser.MergeFromString(value, child);
  } else {
    reflection->ClearField(target.message, target.field);
    if (is_text && target.field->is_repeated()) {
      reflection->AddString(target.message, target.field, value);
    } else if (is_text) {
      reflection->SetString(target.message, target.field, value);
    } else {
      ok = parser.ParseFieldValueFromString(value, target.field, target.message);
      if (!ok && target.field->enum_type() != nullptr)
        return OverrideError(assignment, NoSuchValue(*target.field, value));
    }
  }
  return ok ? absl::OkStatus() : OverrideError(assignment, errors.ToStatus().message());
}

}  // namespace

absl::StatusOr<v1::JobSpec> ParseJobText(absl::string_view text, const std::string& name) {
  v1::JobSpec spec;
  SLUICE_RETURN_IF_ERROR(ParseMessageText(text, name, spec));
  return spec;
}

absl::StatusOr<v1::JobSpec> ParseJobJson(absl::string_view text, const std::string& name) {
  v1::JobSpec spec;
  SLUICE_RETURN_IF_ERROR(ParseMessageJson(text, name, spec));
  return spec;
}

absl::Status ApplyOverride(v1::JobSpec& spec, const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    return OverrideError(assignment, "write it as field.field=value");
  const std::string path = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  google::protobuf::Message* message = &spec;
  size_t begin = 0;
  while (true) {
    const size_t dot = path.find('.', begin);
    SLUICE_ASSIGN_OR_RETURN(const Target target, Step(message, path.substr(begin, dot - begin), assignment));
    if (dot == std::string::npos) return Assign(target, value, assignment);
    SLUICE_ASSIGN_OR_RETURN(message, Enter(target, assignment));
    begin = dot + 1;
  }
}

void ResolvePaths(v1::JobSpec& spec, const std::string& folder) {
  const auto resolve = [&](const std::string& path) {
    if (path.empty()) return path;
    return (std::filesystem::path(folder) / path).lexically_normal().string();  // an absolute path stays
  };
  if (spec.has_model()) spec.mutable_model()->set_path(resolve(spec.model().path()));
  if (spec.has_prompts()) spec.mutable_prompts()->set_file(resolve(spec.prompts().file()));
  if (spec.has_evaluation()) spec.mutable_evaluation()->set_file(resolve(spec.evaluation().file()));
  for (v1::EvaluationSpec& more : *spec.mutable_more_evaluations()) more.set_file(resolve(more.file()));
  if (spec.has_warm_start()) spec.mutable_warm_start()->set_file(resolve(spec.warm_start().file()));
}

absl::StatusOr<JobVersion> ParseJobVersion(const std::string& text) {
  JobVersion out;
  const size_t at = text.rfind('@');
  out.job = text.substr(0, at);
  int64_t version = 0;
  const bool good = at == text.npos || (absl::SimpleAtoi(text.substr(at + 1), &version) && version >= 0);
  if (out.job.empty() || !good) {
    return absl::InvalidArgumentError(
        absl::StrCat("--from ", text, ": JOB, or JOB@VERSION with a number as VERSION, is needed"));
  }
  if (at != text.npos) out.version = version;
  return out;
}

absl::StatusOr<v1::JobSpec> GoOnFrom(v1::JobSpec spec, const std::vector<std::string>& overrides) {
  spec.clear_warm_start();
  spec.clear_replay();
  spec.clear_from();
  for (const std::string& assignment : overrides) SLUICE_RETURN_IF_ERROR(ApplyOverride(spec, assignment));
  std::error_code error;
  ResolvePaths(spec, std::filesystem::current_path(error).string());
  return spec;
}

absl::StatusOr<v1::JobSpec> ReadJob(const std::string& path, const std::vector<std::string>& overrides) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxJobBytes));
  auto spec = absl::EndsWith(path, ".json") ? ParseJobJson(text, path) : ParseJobText(text, path);
  if (!spec.ok()) return spec;
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return ErrnoStatus(error.value(), path);
  ResolvePaths(*spec, absolute.parent_path().string());
  for (const std::string& assignment : overrides) SLUICE_RETURN_IF_ERROR(ApplyOverride(*spec, assignment));
  ResolvePaths(*spec, std::filesystem::current_path(error).string());
  return spec;
}

absl::Status LocateMistake(const absl::Status& status, const std::string& path,
                           const std::vector<std::string>& overrides) {
  if (!absl::IsInvalidArgument(status) && !absl::IsNotFound(status)) return Annotate(status, path);
  // Behind the coordinator's address: "a.b[0].c: what is wrong".
  static const RE2* const kField =
      new RE2(R"((?s)^(?:\S+:\d+: )?([a-z_]+(?:\[\d+\])?(?:\.[a-z0-9_]+(?:\[\d+\])?)*)(: .*))");
  std::string field, what;
  if (!RE2::FullMatch(std::string(status.message()), *kField, &field, &what)) return Annotate(status, path);
  for (auto it = overrides.rbegin(); it != overrides.rend(); ++it) {
    const std::string name = it->substr(0, it->find('='));
    if (name == field || absl::StartsWith(field, name + ".")) return OverrideError(*it, field + what);
  }
  const auto text = ReadFile(path, kMaxJobBytes);
  const std::string place =
      text.ok() ? PlaceOfField(*text, absl::EndsWith(path, ".json"), field, v1::JobSpec()) : "";
  return absl::InvalidArgumentError(
      absl::StrCat(path, ":", place.empty() ? "" : place + ":", " ", field, what));
}

}  // namespace sluice::cli
