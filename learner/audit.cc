#include "learner/audit.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/random.h"

namespace sluice {
namespace {

constexpr uint64_t kAuditSeed = 0x6578616374;  // any number, the same for ever

using VersionKey = std::pair<PolicyVersion, std::string>;

bool IsOlder(const VersionSpan& span, PolicyVersion current, const std::string& kernel_path) {
  return span.version < current && span.kernel_path == kernel_path;
}

void AddPieces(const TrainingGroup& group, size_t place, PolicyVersion current,
               const std::string& kernel_path, std::vector<AuditPiece>* pieces) {
  std::map<VersionKey, AuditPiece> by_version;
  for (size_t i = 0; i < group.sequences.size(); ++i) {
    const TrainingSequence& s = group.sequences[i];
    if (!IsComparable(s)) continue;
    for (const VersionSpan& span : s.spans) {
      if (!IsOlder(span, current, kernel_path)) continue;
      AuditPiece& piece = by_version[{span.version, span.manifest_hash}];
      piece.group = place;
      piece.version = span.version;
      piece.manifest_hash = span.manifest_hash;
      if (piece.sequences.empty() || piece.sequences.back() != i) piece.sequences.push_back(i);
      piece.tokens += span.end - span.begin;
    }
  }
  for (auto& [key, piece] : by_version) pieces->push_back(std::move(piece));
}

}  // namespace

const VersionSpan* SpanAt(const TrainingSequence& s, int32_t position) {
  for (const VersionSpan& span : s.spans) {
    if (position >= span.begin && position < span.end) return &span;
  }
  return nullptr;
}

bool IsComparable(const TrainingSequence& s) { return s.spans.size() <= 1 || s.experts.ids.empty(); }

std::vector<AuditPiece> PlanAudit(absl::Span<const TrainingGroup> groups, PolicyVersion version,
                                  const std::string& kernel_path) {
  std::vector<AuditPiece> candidates;
  int64_t batch_tokens = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    AddPieces(groups[i], i, version - 1, kernel_path, &candidates);
    for (const TrainingSequence& s : groups[i].sequences) batch_tokens += s.tokens.size();
  }
  auto rank = [&](const AuditPiece& p) {
    return BitsAt(kAuditSeed, RandomDomain::kShuffle, groups[p.group].draw);
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const AuditPiece& a, const AuditPiece& b) { return rank(a) < rank(b); });
  std::vector<AuditPiece> plan;
  std::set<VersionKey> versions;
  int64_t tokens = 0;
  for (AuditPiece& piece : candidates) {
    if (plan.size() >= kAuditPieces && tokens * kAuditShare >= batch_tokens) break;
    const VersionKey key{piece.version, piece.manifest_hash};
    if (versions.count(key) == 0 && versions.size() >= kAuditVersions) continue;
    versions.insert(key);
    tokens += piece.tokens;
    plan.push_back(std::move(piece));
  }
  return plan;
}

}  // namespace sluice
