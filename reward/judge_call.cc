#include "reward/judge_call.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/fail_point.h"
#include "core/rl/reward_composition.h"
#include "reward/quotation.h"

namespace sluice {
namespace {

// Scorers that know of the time end by themselves a little after it, with more to say.
constexpr absl::Duration kGrace = absl::Seconds(2);

// A checker's exception is its items' infrastructure failure.
template <typename Judge>
std::vector<ItemJudgement> Safely(size_t count, Judge judge) {
  std::string failure = "the scorer failed";
  try {
    std::vector<ItemJudgement> out = judge();
    if (out.size() == count) return out;
    failure = absl::StrCat("the scorer gave ", out.size(), " judgements for ", count, " items");
  } catch (const std::exception& e) {
    failure = absl::StrCat("the scorer failed: ", Quotation(e.what()));
  } catch (...) {
  }
  return std::vector<ItemJudgement>(count, Infrastructure(failure));
}

size_t BytesOf(const ScoreItem& item) {
  size_t bytes = item.prompt.size() + item.completion.size();
  for (const auto& [name, value] : item.fields) bytes += name.size() + value.size();
  return bytes;
}

VerdictComponent ComponentOf(const RewardComponentSpec& rule, ItemJudgement j) {
  return {rule.name,
          j.kind,
          j.value,
          rule.weight,
          std::move(j.detail),
          std::move(j.outcome),
          std::move(j.tests),
          std::move(j.steps),
          std::move(j.stamps)};
}

}  // namespace

JudgeCall::JudgeCall(const RewardSpec& spec, std::vector<ScoreItem> items,
                     std::vector<ComponentScorer> scorers, const JudgeCallOptions& options)
    : spec_(spec), items_(std::move(items)), scorers_(std::move(scorers)), options_(options) {
  absl::MutexLock lock(&mu_);
  slots_.resize(scorers_.size() * items_.size());
  seconds_.resize(items_.size());
  waiting_.resize(items_.size(), scorers_.size());
  left_ = slots_.size();
  for (size_t c = 0; c < scorers_.size(); ++c) {
    for (size_t i = 0; i < items_.size(); ++i) {
      if (scorers_[c].item == nullptr && scorers_[c].batch == nullptr) {
        Store(c, i, {});
      } else if (items_[i].completion.size() > options_.max_completion_bytes) {
        Store(c, i,
              InvalidRow(absl::StrCat("the completion has ", items_[i].completion.size(), " bytes; at most ",
                                      options_.max_completion_bytes, " are judged")));
      }
    }
  }
}

// Item scorers: one item and all components a piece. Batch scorers: as many items as fit.
std::vector<JudgeCall::Piece> JudgeCall::PiecesOf(const std::vector<size_t>& components) const {
  std::vector<Piece> out;
  Piece items{{}, 0, 1};
  for (size_t c : components) {
    if (scorers_[c].batch == nullptr) {
      items.components.push_back(c);
      continue;
    }
    const size_t most = std::max<size_t>(1, scorers_[c].batch->max_batch());
    for (size_t first = 0, count = 0; first < items_.size(); first += count) {
      size_t bytes = 0;
      for (count = 0; first + count < items_.size() && count < most; ++count) {
        bytes += BytesOf(items_[first + count]);
        if (count > 0 && bytes > options_.max_batch_bytes) break;
      }
      out.push_back({{c}, first, count});
    }
  }
  if (items.components.empty()) return out;
  for (items.first = 0; items.first < items_.size(); ++items.first) out.push_back(items);
  return out;
}

void JudgeCall::Start() {
  SLUICE_FAIL_POINT("reward.call_starting");
  std::map<JudgeLane*, std::vector<size_t>> lanes;
  std::map<JudgeLane*, LanePlace> places;
  for (size_t c = 0; c < scorers_.size(); ++c) {
    if (scorers_[c].place.lane == nullptr) continue;
    lanes[scorers_[c].place.lane].push_back(c);
    places[scorers_[c].place.lane] = scorers_[c].place;
  }
  for (const auto& [lane, components] : lanes) {
    pieces_[lane] = PiecesOf(components);
    shortest_timeout_ = std::min(shortest_timeout_, places[lane].item_timeout);
  }
  for (auto& [lane, pieces] : pieces_) {
    const auto run = [self = shared_from_this(), list = &pieces, place = places[lane]](size_t i) {
      self->Run((*list)[i], place);
    };
    lane->Add({pieces.size(), run, options_.priority});
  }
}

void JudgeCall::Run(const Piece& piece, const LanePlace& place) {
  std::list<Running>::iterator self;
  JudgeLimits limits;
  limits.cancel = cancel_;
  {
    absl::MutexLock lock(&mu_);
    if (over_) return;
    limits.deadline = std::min(options_.deadline, absl::Now() + place.item_timeout);
    self = running_.insert(running_.end(),
                           {&piece, place.lane, std::this_thread::get_id(), limits.deadline + kGrace});
  }
  SLUICE_FAIL_POINT("reward.piece_begun");
  for (size_t component : piece.components) JudgeComponent(component, piece, limits);
  SLUICE_FAIL_POINT("reward.piece_judged");
  absl::MutexLock lock(&mu_);
  if (self->piece != nullptr) running_.erase(self);
}

void JudgeCall::JudgeComponent(size_t component, const Piece& piece, const JudgeLimits& limits) {
  const ComponentScorer& scorer = scorers_[component];
  std::vector<size_t> indices;
  {
    absl::MutexLock lock(&mu_);
    for (size_t i = piece.first; i < piece.first + piece.count; ++i) {
      if (!over_ && !At(component, i).done) indices.push_back(i);
    }
  }
  if (indices.empty()) return;
  std::vector<const ScoreItem*> items;
  for (size_t i : indices) items.push_back(&items_[i]);
  const absl::Time begin = absl::Now();
  std::vector<ItemJudgement> judged = Safely(items.size(), [&]() -> std::vector<ItemJudgement> {
    if (scorer.batch != nullptr) return scorer.batch->Judge(items, limits);
    return {scorer.item->JudgeWithin(*items[0], limits)};
  });
  const double seconds = absl::ToDoubleSeconds(absl::Now() - begin) / static_cast<double>(items.size());
  absl::MutexLock lock(&mu_);
  if (over_) return;
  for (size_t k = 0; k < indices.size(); ++k) {
    if (At(component, indices[k]).done) continue;
    seconds_[indices[k]] += seconds;
    Store(component, indices[k], std::move(judged[k]));
  }
}

void JudgeCall::Store(size_t component, size_t item, ItemJudgement judgement) {
  Slot& slot = At(component, item);
  slot.done = true;
  slot.judgement = std::move(judgement);
  --waiting_[item];
  --left_;
}

void JudgeCall::GiveUpLate(absl::Time now) {
  for (auto it = running_.begin(); it != running_.end();) {
    const auto late = it++;
    if (late->piece == nullptr || late->until > now) continue;
    for (size_t c : late->piece->components) {
      for (size_t i = late->piece->first; i < late->piece->first + late->piece->count; ++i) {
        if (!At(c, i).done)
          Store(c, i, Infrastructure("the scorer did not end in its time and was given up"));
      }
    }
    late->piece = nullptr;
    late->lane->ReplaceThread(late->thread);
  }
}

void JudgeCall::Await(const CancelToken& cancel) {
  {
    const std::stop_callback on_cancel(cancel.stop_token(), [this] {
      absl::MutexLock lock(&mu_);
      over_ = true;
    });
    absl::MutexLock lock(&mu_);
    while (!Over()) {
      const absl::Time now = absl::Now();
      if (now >= options_.deadline) break;
      GiveUpLate(now);
      const absl::Time wake = std::min(options_.deadline, now + shortest_timeout_ + kGrace);
      mu_.AwaitWithDeadline(absl::Condition(this, &JudgeCall::Over), wake);
    }
    over_ = true;
  }
  cancel_.Cancel();
}

size_t JudgeCall::finished_items() const {
  absl::MutexLock lock(&mu_);
  return static_cast<size_t>(std::count(waiting_.begin(), waiting_.end(), 0u));
}

std::vector<Verdict> JudgeCall::TakeVerdicts() {
  absl::MutexLock lock(&mu_);
  std::vector<Verdict> out;
  out.reserve(items_.size());
  for (size_t i = 0; i < items_.size(); ++i) {
    std::vector<VerdictComponent> components;
    for (size_t c = 0; c < scorers_.size(); ++c) {
      const RewardComponentSpec& rule = spec_.components[c];
      Slot& slot = At(c, i);
      if (!slot.done) slot.judgement = Infrastructure("not judged within the call's deadline");
      components.push_back(IsGroupTerm(rule) ? PendingGroupTerm(rule)
                                             : ComponentOf(rule, std::move(slot.judgement)));
    }
    out.push_back(Compose(spec_, std::move(components)));
    out.back().seconds = seconds_[i];
  }
  return out;
}

}  // namespace sluice
