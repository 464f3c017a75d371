// A job as a user writes it: protobuf text format, or JSON when the name ends in ".json". Every mistake is
// told with file, line and column.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sluice/v1/job.pb.h"

namespace sluice::cli {

// `name` is for the errors: "job.textproto:3:5: ...". At most 8 errors are listed.
absl::StatusOr<v1::JobSpec> ParseJobText(absl::string_view text, const std::string& name);
absl::StatusOr<v1::JobSpec> ParseJobJson(absl::string_view text, const std::string& name);

// "sampling.group_size=16", "reward.component[0].weight=2", "model.dtype=F32"; strings need no quotes; a list
// of values becomes the one value; a message takes text format.
absl::Status ApplyOverride(v1::JobSpec& spec, const std::string& assignment);

// JOB or JOB@VERSION, whose weights a new job begins with.
struct JobVersion {
  std::string job;
  std::optional<int64_t> version;
};
absl::StatusOr<JobVersion> ParseJobVersion(const std::string& text);

// What a job that goes on from another is submitted as, where that was submitted as `spec`: its warm start,
// and what it began with itself, are over. Overrides apply as in ReadJob.
absl::StatusOr<v1::JobSpec> GoOnFrom(v1::JobSpec spec, const std::vector<std::string>& overrides);

// Makes the relative paths in model, prompts, evaluation and warm_start absolute.
void ResolvePaths(v1::JobSpec& spec, const std::string& folder);

// File, its paths against its folder, overrides, their paths against the working directory.
absl::StatusOr<v1::JobSpec> ReadJob(const std::string& path, const std::vector<std::string>& overrides);

// What the coordinator found wrong with the job of `path`, with the place: "job.textproto:4:30:
// sampling.group_size: ...", or "--set sampling.group_size=1: ..." when that gave the value. The message is
// put behind `path` when it names no field.
absl::Status LocateMistake(const absl::Status& status, const std::string& path,
                           const std::vector<std::string>& overrides);

}  // namespace sluice::cli
