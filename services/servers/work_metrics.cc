#include "services/servers/work_metrics.h"

namespace sluice {
namespace {

prometheus::Gauge& MakeGauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Histogram& MakeHistogram(prometheus::Registry& registry, const char* name, const char* help,
                                     prometheus::Histogram::BucketBoundaries bounds) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, std::move(bounds));
}

}  // namespace

WorkMetrics::WorkMetrics(prometheus::Registry& registry)
    : streams_(MakeGauge(registry, "sluice_work_streams", "Streams of rollout workers that are open.")),
      queued_(MakeGauge(registry, "sluice_work_queued_bytes",
                        "Orders and answers that wait to be sent to rollout workers.")),
      messages_(prometheus::BuildCounter()
                    .Name("sluice_work_messages_total")
                    .Help("Messages on the streams of rollout workers, by direction.")
                    .Register(registry)),
      reports_(prometheus::BuildCounter()
                   .Name("sluice_work_items_total")
                   .Help("What those messages held, by kind.")
                   .Register(registry)),
      in_(messages_.Add({{"direction", "in"}})),
      out_(messages_.Add({{"direction", "out"}})),
      samples_(reports_.Add({{"kind", "sample"}})),
      progress_(reports_.Add({{"kind", "progress"}})),
      ends_(reports_.Add({{"kind", "end"}})),
      orders_(reports_.Add({{"kind", "order"}})),
      batch_(MakeHistogram(registry, "sluice_work_batch_reports", "Reports in one message that has any.",
                           {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024})),
      dispatch_(MakeHistogram(
          registry, "sluice_work_dispatch_seconds",
          "From the arrival of the end of an order to the next order for its worker.",
          {0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 100})) {}

void WorkMetrics::Received(int samples, int progress, int ends) {
  in_.Increment();
  samples_.Increment(samples);
  progress_.Increment(progress);
  ends_.Increment(ends);
  if (const int reports = samples + progress + ends; reports > 0) batch_.Observe(reports);
}

void WorkMetrics::Sent(int orders) {
  out_.Increment();
  orders_.Increment(orders);
}

}  // namespace sluice
