#include "services/learner/gang_pulse.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"

namespace sluice {

GangPulse::GangPulse(GangPulseOptions options)
    : options_(std::move(options)), heard_(options_.world), thread_([this] { Run(); }) {}

GangPulse::~GangPulse() {
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  thread_.join();
}

std::string GangPulse::Key(const char* what, int rank) const {
  return absl::StrCat(options_.gang, "/", what, "/", rank);
}

absl::Status GangPulse::AskToLeave(absl::Time deadline) {
  return options_.store->Set(Key("leaving", 0), absl::StrCat(options_.rank), deadline);
}

absl::Status GangPulse::Lost(int rank, absl::Duration silent) const {
  return absl::UnavailableError(absl::StrCat("rank ", rank, " of ", options_.world, " was not heard of for ",
                                             absl::FormatDuration(silent), ", by rank ", options_.rank));
}

absl::Status GangPulse::LookAtOthers(absl::Duration since_last) {
  for (int rank = 1; rank < options_.world; ++rank) {
    Heard& heard = heard_[rank];
    const auto count = options_.store->Get(Key("pulse", rank), absl::Now());
    const bool beat = count.ok() && *count != heard.count;
    if (beat) heard.count = *count;
    heard.silent = beat ? absl::ZeroDuration() : heard.silent + since_last;
    if (heard.silent > options_.limit) return Lost(rank, heard.silent);
  }
  return absl::OkStatus();
}

absl::Status GangPulse::BeatOnce(absl::Duration since_last) {
  Heard& first = heard_[0];
  const auto beat = options_.store->Add(Key("pulse", options_.rank), 1, absl::Now() + 2 * options_.period);
  first.silent = beat.ok() ? absl::ZeroDuration() : first.silent + since_last;
  return first.silent > options_.limit ? Lost(0, first.silent) : absl::OkStatus();
}

void GangPulse::LookForLeaving() {
  const auto leaving = options_.store->Get(Key("leaving", 0), absl::Now());
  int rank = 0;
  if (leaving_ || !leaving.ok() || !absl::SimpleAtoi(*leaving, &rank)) return;
  leaving_ = true;
  options_.on_leaving(rank);
}

void GangPulse::Run() {
  absl::Time last = absl::Now();
  while (true) {
    // When this rank itself was stopped, the others were not silent for that time.
    const absl::Duration since_last = std::min(absl::Now() - last, 4 * options_.period);
    last = absl::Now();
    const absl::Status alive = options_.rank == 0 ? LookAtOthers(since_last) : BeatOnce(since_last);
    if (options_.rank == 0) LookForLeaving();
    if (!alive.ok()) return options_.on_lost(alive);
    absl::MutexLock lock(&mu_);
    if (mu_.AwaitWithTimeout(absl::Condition(&stopping_), options_.period)) return;
  }
}

}  // namespace sluice
