#include "core/rl/types.h"

#include <numeric>

namespace sluice {

const char* LedgerColumnName(LedgerColumn column) {
  switch (column) {
    case LedgerColumn::kInFlight:
      return "in_flight";
    case LedgerColumn::kTrained:
      return "trained";
    case LedgerColumn::kDroppedStale:
      return "dropped_stale";
    case LedgerColumn::kDroppedFailed:
      return "dropped_failed";
    case LedgerColumn::kDroppedFiltered:
      return "dropped_filtered";
    case LedgerColumn::kQuarantined:
      return "quarantined";
    case LedgerColumn::kCancelled:
      return "cancelled";
    case LedgerColumn::kRolledBack:
      return "rolled_back";
  }
  return "?";
}

bool Ledger::Balances() const {
  return issued == std::accumulate(columns.begin(), columns.end(), int64_t{0});
}

}  // namespace sluice
