// The shared nouns across the wire (sluice/v1/types.proto). FromProto checks everything once:
// INVALID_ARGUMENT names the field. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "core/rl/types.h"
#include "sluice/v1/types.pb.h"

namespace sluice {

v1::SamplingParams ToProto(const SamplingParams& params);
absl::StatusOr<SamplingParams> FromProto(const v1::SamplingParams& proto);

v1::VersionSpan ToProto(const VersionSpan& span);
absl::StatusOr<VersionSpan> FromProto(const v1::VersionSpan& proto);

v1::Trajectory ToProto(const Trajectory& trajectory);
// Log-probabilities are finite, at most 0 and as many as tokens; spans cover the tokens exactly, in order.
absl::StatusOr<Trajectory> FromProto(const v1::Trajectory& proto);
// The same, and one that is not finished may be a part (core/rl/trajectory_parts.h).
absl::StatusOr<Trajectory> PartFromProto(const v1::Trajectory& proto);

// 16 bits each, little-endian, as RoutedExperts.ids has them.
void AppendExpertIds(absl::Span<const uint16_t> ids, std::string& to);

v1::Verdict ToProto(const Verdict& verdict);
absl::StatusOr<Verdict> FromProto(const v1::Verdict& proto);

v1::PolicyRef ToProto(const PolicyRef& policy);
absl::StatusOr<PolicyRef> FromProto(const v1::PolicyRef& proto);

v1::Ledger ToProto(const Ledger& ledger);
absl::StatusOr<Ledger> FromProto(const v1::Ledger& proto);

}  // namespace sluice
