#include "coordinator/prompts/prompt_quarantine.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr Draw kDrawsAhead = 4096;

}  // namespace

void PromptQuarantine::Add(uint64_t row) { changed_ |= rows_.insert(row).second; }

void PromptQuarantine::Release(const std::vector<uint64_t>& rows) {
  changed_ = true;
  if (rows.empty()) rows_.clear();
  for (uint64_t row : rows) rows_.erase(row);
}

void PromptQuarantine::Foresee(ShuffledOrder& order, SchedulerState& state) {
  BarredDraws& barred = state.barred;
  if (rows_.empty()) {
    if (changed_) barred = {};
    changed_ = false;
    return;
  }
  if (std::exchange(changed_, false)) {
    barred.draws.clear();
    barred.known_below = state.next_draw;
  }
  if (barred.known_below > state.next_draw + kDrawsAhead / 2) return;
  barred.draws.erase(barred.draws.begin(), barred.draws.lower_bound(state.next_draw));
  Draw& draw = barred.known_below;
  for (draw = std::max(draw, state.next_draw); draw < state.next_draw + kDrawsAhead; ++draw) {
    if (rows_.count(order.At(draw)) > 0) barred.draws.insert(draw);
  }
}

}  // namespace sluice
