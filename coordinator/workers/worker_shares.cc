#include "coordinator/workers/worker_shares.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace sluice {
namespace {

// In the order in which jobs are served.
std::vector<ShareClaim> Sorted(std::vector<ShareClaim> claims) {
  std::sort(claims.begin(), claims.end(), [](const ShareClaim& a, const ShareClaim& b) {
    if (a.share.priority != b.share.priority) return a.share.priority > b.share.priority;
    return std::pair(a.order, a.job) < std::pair(b.order, b.job);
  });
  return claims;
}

int64_t MostOf(const ShareClaim& claim) {
  return claim.share.max_workers == 0 ? std::numeric_limits<int64_t>::max() : claim.share.max_workers;
}

std::map<JobId, int64_t> CountHeld(const Assignment& now) {
  std::map<JobId, int64_t> held;
  for (const auto& [worker, job] : now) {
    if (!job.empty()) ++held[job];
  }
  return held;
}

// Gives out one worker at a time.
class Sharing {
 public:
  // `claims`: sorted; only those that need workers.
  Sharing(const std::vector<ShareClaim>& claims, const std::map<JobId, int64_t>& held)
      : claims_(claims), held_(held) {
    for (const ShareClaim& claim : claims_) {
      const int64_t above = int64_t{claim.share.priority} - claims_.back().share.priority;
      weights_.push_back(int64_t{1} << std::min<int64_t>(kMostDoublings, above));
      given_.push_back(0);
    }
  }

  void GiveMinimums(int64_t& left) {
    for (size_t i = 0; i < claims_.size(); ++i) {
      given_[i] = std::min({int64_t{claims_[i].share.min_workers}, MostOf(claims_[i]), left});
      left -= given_[i];
    }
  }
  // False when no job may have more.
  bool GiveOne() {
    size_t best = claims_.size();
    for (size_t i = 0; i < claims_.size(); ++i) {
      if (given_[i] < MostOf(claims_[i]) && (best == claims_.size() || GoesBefore(i, best))) best = i;
    }
    if (best == claims_.size()) return false;
    ++given_[best];
    return true;
  }
  std::map<JobId, int64_t> Result() const {
    std::map<JobId, int64_t> out;
    for (size_t i = 0; i < claims_.size(); ++i) out[claims_[i].job] = given_[i];
    return out;
  }

 private:
  bool GoesBefore(size_t a, size_t b) const {
    const int64_t has_a = given_[a] * weights_[b], has_b = given_[b] * weights_[a];
    if (has_a != has_b) return has_a < has_b;
    if (claims_[a].share.priority != claims_[b].share.priority) return a < b;
    const bool keeps_a = Held(a) > given_[a], keeps_b = Held(b) > given_[b];
    return keeps_a != keeps_b ? keeps_a : a < b;
  }
  int64_t Held(size_t i) const {
    const auto it = held_.find(claims_[i].job);
    return it == held_.end() ? 0 : it->second;
  }

  const std::vector<ShareClaim>& claims_;
  const std::map<JobId, int64_t>& held_;
  std::vector<int64_t> weights_, given_;
};

}  // namespace

std::map<JobId, int64_t> ShareOut(const std::vector<ShareClaim>& claims, int64_t workers,
                                  const std::map<JobId, int64_t>& held) {
  std::vector<ShareClaim> needy, others;
  for (ShareClaim& claim : Sorted(claims)) (claim.needs ? needy : others).push_back(std::move(claim));
  Sharing sharing(needy, held);
  sharing.GiveMinimums(workers);
  while (workers > 0 && sharing.GiveOne()) --workers;
  std::map<JobId, int64_t> out = sharing.Result();
  for (const ShareClaim& claim : others) {
    const auto it = held.find(claim.job);
    const int64_t keeps = it == held.end() ? 0 : std::min({it->second, MostOf(claim), workers});
    out[claim.job] = keeps;
    workers -= keeps;
  }
  return out;
}

Assignment Assign(const std::vector<ShareClaim>& claims, const Assignment& now) {
  std::map<JobId, int64_t> left = ShareOut(claims, static_cast<int64_t>(now.size()), CountHeld(now));
  Assignment out;
  std::vector<std::string> free;
  for (const auto& [worker, job] : now) {
    const auto it = left.find(job);
    if (it == left.end() || it->second == 0) {
      free.push_back(worker);
      out[worker];
      continue;
    }
    --it->second;
    out[worker] = job;
  }
  auto next = free.begin();
  for (const ShareClaim& claim : Sorted(claims)) {
    for (int64_t& missing = left[claim.job]; missing > 0 && next != free.end(); --missing) {
      out[*next++] = claim.job;
    }
  }
  return out;
}

Assignment WorkerShares::Update(const std::vector<ShareClaim>& claims, const Assignment& now,
                                absl::Time time) {
  Assignment fair = Assign(claims, now);
  const bool moves = std::any_of(now.begin(), now.end(), [&](const auto& entry) {
    return !entry.second.empty() && fair.at(entry.first) != entry.second;
  });
  if (!moves) {
    unfair_since_.reset();
    claims_ = claims;
    return fair;
  }
  if (!unfair_since_) unfair_since_ = time;
  if (claims != claims_ || time - *unfair_since_ >= settle_) {
    unfair_since_.reset();
    claims_ = claims;
    return fair;
  }
  // Only those that work for nobody, and for jobs that no longer run.
  Assignment held = now;
  for (auto& [worker, job] : held) {
    const bool runs =
        std::any_of(claims.begin(), claims.end(), [&j = job](const auto& c) { return c.job == j; });
    if (job.empty() || !runs) job = fair.at(worker);
  }
  return held;
}

}  // namespace sluice
