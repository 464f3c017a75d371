// Packed weights, and how a Linear is divided among threads.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/kernels/kernel_table.h"
#include "core/kernels/kernels.h"

namespace sluice::kernels {
namespace {

constexpr int64_t kPanel = 16;
constexpr int64_t kAlignment = 64;
// Below this many multiply-adds (about 30 us of one core) waking a thread costs more than it saves.
constexpr int64_t kWorthAThread = 2'000'000;

// Panel p, input k, lane: w[16 p + lane, k]; outputs past the end are 0.
template <typename Value>
std::shared_ptr<const void> Pack(const Value* w, int64_t out, int64_t in) {
  const int64_t panels = (out + kPanel - 1) / kPanel;
  const int64_t bytes =
      std::max<int64_t>(panels * kPanel * in * static_cast<int64_t>(sizeof(Value)), kAlignment);
  const int64_t padded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  std::shared_ptr<void> memory(std::aligned_alloc(kAlignment, padded), [](void* p) { std::free(p); });
  if (memory == nullptr) throw std::bad_alloc();
  Value* packed = static_cast<Value*>(memory.get());
  for (int64_t p = 0; p < panels; ++p) {
    const int64_t lanes = std::min(kPanel, out - p * kPanel);
    for (int64_t k = 0; k < in; ++k) {
      Value* to = packed + (p * in + k) * kPanel;
      const Value* from = w + p * kPanel * in + k;
      for (int64_t lane = 0; lane < lanes; ++lane) to[lane] = from[lane * in];
      for (int64_t lane = lanes; lane < kPanel; ++lane) to[lane] = Value{0};
    }
  }
  return memory;
}

}  // namespace

PackedMatrix PackedMatrix::FromF32(const float* w, int64_t out, int64_t in) {
  PackedMatrix m;
  m.out_ = out;
  m.in_ = in;
  m.data_ = Pack(w, out, in);
  return m;
}

PackedMatrix PackedMatrix::FromBF16(const uint16_t* w, int64_t out, int64_t in) {
  PackedMatrix m;
  m.out_ = out;
  m.in_ = in;
  m.is_bf16_ = true;
  m.data_ = Pack(w, out, in);
  return m;
}

namespace {

// How one job is cut into pieces for threads.
struct Division {
  LinearPiece whole;
  int64_t panels, band, rows_each, parts, first;  // `first`: this job's first piece among all
};

LinearPiece PieceOf(const Division& d, int64_t i) {
  LinearPiece piece = d.whole;
  piece.panel = i / d.parts * d.band;
  piece.panel_end = std::min(d.panels, piece.panel + d.band);
  piece.row = i % d.parts * d.rows_each;
  piece.row_end = std::min(d.whole.row_end, piece.row + d.rows_each);
  return piece;
}

// Into about `wanted` pieces. Bands of panels first: a band's weights stay in one core's cache. Rows are
// divided too when bands are few.
Division Divide(const LinearJob& job, int64_t wanted) {
  Division d;
  d.panels = (job.w->out() + kPanel - 1) / kPanel;
  d.whole = {job.x,         job.x_stride,
             job.w->data(), job.w->is_bf16(),
             job.w->in(),   job.w->out(),
             job.bias,      job.y,
             job.y_stride,  0,
             job.rows,      0,
             d.panels};
  d.band = std::max<int64_t>(1, d.panels / wanted / 4) * 4;
  const int64_t bands = (d.panels + d.band - 1) / d.band;
  const int64_t row_parts = std::min<int64_t>((wanted + bands - 1) / bands, (job.rows + 11) / 12);
  d.rows_each = ((job.rows + row_parts - 1) / row_parts + 5) / 6 * 6;
  d.parts = (job.rows + d.rows_each - 1) / d.rows_each;
  return d;
}

int64_t Work(const LinearJob& job) { return job.rows * job.w->in() * job.w->out(); }

}  // namespace

void Linear(const float* x, int64_t rows, int64_t x_stride, const PackedMatrix& w, const float* bias,
            float* y, int64_t y_stride, ThreadPool* pool) {
  const LinearJob job = {x, rows, x_stride, &w, bias, y, y_stride};
  LinearBatch(absl::MakeConstSpan(&job, 1), pool);
}

void LinearBatch(absl::Span<const LinearJob> jobs, ThreadPool* pool) {
  const KernelTable& kernels = ActiveKernels();
  int64_t work = 0;
  for (const LinearJob& job : jobs) work += Work(job);
  const bool alone = pool == nullptr || pool->threads() == 1 || work < 2 * kWorthAThread;
  const int64_t wanted = alone ? 1 : std::min<int64_t>(4 * pool->threads(), work / kWorthAThread);
  std::vector<Division> divisions;
  int64_t pieces = 0;
  for (const LinearJob& job : jobs) {
    if (job.rows == 0) continue;
    const double share = static_cast<double>(Work(job)) / static_cast<double>(std::max<int64_t>(1, work));
    Division d = Divide(job, std::max<int64_t>(1, std::llround(share * static_cast<double>(wanted))));
    d.first = pieces;
    pieces += (d.panels + d.band - 1) / d.band * d.parts;
    divisions.push_back(d);
  }
  const auto run = [&](int64_t i) {
    const auto after = std::upper_bound(divisions.begin(), divisions.end(), i,
                                        [](int64_t piece, const Division& d) { return piece < d.first; });
    kernels.linear(PieceOf(*(after - 1), i - (after - 1)->first));
  };
  if (alone) {
    for (int64_t i = 0; i < pieces; ++i) run(i);
  } else {
    pool->ParallelFor(pieces, run);
  }
}

}  // namespace sluice::kernels
