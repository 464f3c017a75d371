#include "coordinator/store/metrics.h"

namespace sluice {

StoreMetrics::StoreMetrics(prometheus::Registry& registry)
    : commits_(prometheus::BuildHistogram()
                   .Name("sluice_store_commit_seconds")
                   .Help("Time of a transaction of the store: its writes and syncs.")
                   .Register(registry)
                   .Add({}, prometheus::Histogram::BucketBoundaries{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3,
                                                                    10, 30, 100})),
      turns_(
          prometheus::BuildHistogram()
              .Name("sluice_turn_seconds")
              .Help("Time of one turn of the coordinator's thread, from its events to its last effect, with "
                    "the transactions in it.")
              .Register(registry)
              .Add({}, prometheus::Histogram::BucketBoundaries{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1,
                                                               0.3, 1, 3, 10})),
      stalled_(prometheus::BuildGauge()
                   .Name("sluice_store_stalled")
                   .Help("1 while the store cannot write, or while nothing new is admitted for want of room.")
                   .Register(registry)
                   .Add({})),
      free_(prometheus::BuildGauge()
                .Name("sluice_store_free_bytes")
                .Help("Room on the disk of the state directory.")
                .Register(registry)
                .Add({})),
      fenced_(prometheus::BuildCounter()
                  .Name("sluice_fenced_results_total")
                  .Help("Results that were refused because their worker's lease had ended or was another's.")
                  .Register(registry)
                  .Add({})) {}

}  // namespace sluice
