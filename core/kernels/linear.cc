// Packed weights, and how products are divided among threads.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "absl/container/inlined_vector.h"
#include "core/kernels/kernel_table.h"
#include "core/kernels/kernels.h"

namespace sluice::kernels {
namespace {

constexpr int64_t kPanel = 16;
constexpr int64_t kAlignment = 64;

int64_t PanelsOf(int64_t out) { return (out + kPanel - 1) / kPanel; }

std::shared_ptr<void> AlignedMemory(int64_t bytes) {
  const int64_t padded = std::max(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
  std::shared_ptr<void> memory(std::aligned_alloc(kAlignment, padded), [](void* p) { std::free(p); });
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// [panel][unit of k][16 outputs][width], a unit being `width` values of k: element (o, k) of row-major `w`,
// or 0 where there is none. Taken in squares of 16 units, so that reads and writes are of whole cache lines.
template <int64_t width, typename Value>
std::shared_ptr<const void> Pack(const Value* w, int64_t out, int64_t in, int64_t panel_inputs,
                                 WeightMemory* from) {
  const int64_t panels = PanelsOf(out), square = 16 * width;
  const int64_t bytes = panels * kPanel * panel_inputs * static_cast<int64_t>(sizeof(Value));
  std::shared_ptr<void> memory = from == nullptr ? AlignedMemory(bytes) : from->Take(bytes);
  for (int64_t p = 0; p < panels; ++p) {
    Value* panel = static_cast<Value*>(memory.get()) + p * kPanel * panel_inputs;
    const int64_t lanes = std::min(kPanel, out - p * kPanel);
    if (lanes < kPanel || panel_inputs != in) std::fill(panel, panel + kPanel * panel_inputs, Value{0});
    for (int64_t start = 0; start < in; start += square) {
      const int64_t end = std::min(in, start + square);
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const Value* from = w + (p * kPanel + lane) * in;
        for (int64_t k = start; k < end; ++k) {
          panel[k / width * kPanel * width + lane * width + k % width] = from[k];
        }
      }
    }
  }
  return memory;
}

}  // namespace

PackedMatrix PackedMatrix::FromF32(const float* w, int64_t out, int64_t in, WeightMemory* memory) {
  PackedMatrix m;
  m.out_ = out;
  m.in_ = m.panel_inputs_ = in;
  m.data_ = Pack<1>(w, out, in, in, memory);
  return m;
}

PackedMatrix PackedMatrix::FromBF16(const uint16_t* w, int64_t out, int64_t in, WeightMemory* memory) {
  const int64_t multiple = ActiveKernels().panel_inputs;
  PackedMatrix m;
  m.out_ = out;
  m.in_ = in;
  m.panel_inputs_ = (in + multiple - 1) / multiple * multiple;
  m.is_bf16_ = true;
  m.data_ = Pack<2>(w, out, in, m.panel_inputs_, memory);
  return m;
}

void PackedMatrix::ReadOutput(int64_t output, float* weights) const {
  const int64_t panel = output / kPanel * kPanel * panel_inputs_, lane = output % kPanel;
  if (is_bf16_) {
    const uint16_t* pairs = static_cast<const uint16_t*>(data_.get()) + panel + lane * 2;
    for (int64_t k = 0; k < in_; ++k) {
      const uint32_t bits = static_cast<uint32_t>(pairs[k / 2 * kPanel * 2 + k % 2]) << 16;
      std::memcpy(weights + k, &bits, sizeof(bits));
    }
  } else {
    const float* values = static_cast<const float*>(data_.get()) + panel + lane;
    for (int64_t k = 0; k < in_; ++k) weights[k] = values[k * kPanel];
  }
}

int64_t PackedMatrix::bytes() const {
  return PanelsOf(out_) * kPanel * panel_inputs_ * static_cast<int64_t>(is_bf16_ ? 2 : 4);
}

void* LinearScratch() {
  static thread_local const std::shared_ptr<void> memory = AlignedMemory(kLinearScratch);
  return memory.get();
}

namespace {

// Work is counted in multiply-adds. Reading a weight counts as this many.
constexpr int64_t kReadWeight = 4;
// A piece is worth handing to another thread from here (about 2 us of one core).
constexpr int64_t kWorthAThread = 150'000;
constexpr int64_t kPiecesPerThread = 4;

int64_t Work(const LinearJob& job) {
  return (job.rows + kReadWeight) * job.w->in() * PanelsOf(job.w->out()) * kPanel;
}

// How one job is cut into pieces: `bands` of panels by `parts` of the rows.
struct Division {
  const LinearJob* job;
  int64_t panels, unit, bands, parts, first;  // `first`: this job's first piece among all
};

// Into about `wanted` pieces. Bands first: each weight is then read by one thread. A band is whole tiles
// wide.
Division Divide(const LinearJob& job, int64_t wanted) {
  Division d;
  d.job = &job;
  d.panels = PanelsOf(job.w->out());
  d.unit = job.rows <= 2 ? 8 : job.rows <= 16 ? 4 : 2;
  const int64_t units = (d.panels + d.unit - 1) / d.unit;
  d.bands = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, units));
  d.parts = std::clamp<int64_t>((wanted + d.bands - 1) / d.bands, 1, (job.rows + 15) / 16);
  return d;
}

// The first panel of a band.
int64_t PanelOf(const Division& d, int64_t band) {
  const int64_t units = (d.panels + d.unit - 1) / d.unit;
  return std::min(d.panels, units * band / d.bands * d.unit);
}

// Where the weights of piece i begin.
const void* WeightsOf(const Division& d, int64_t i) {
  const PackedMatrix& w = *d.job->w;
  const int64_t value = w.is_bf16() ? 2 : 4;
  return static_cast<const char*>(w.data()) + PanelOf(d, i / d.parts) * kPanel * w.panel_inputs() * value;
}

void RunPiece(const Division& d, int64_t i, const void* next) {
  const LinearJob& job = *d.job;
  const int64_t band = i / d.parts, part = i % d.parts;
  const LinearPiece piece = {job.x,
                             job.x_stride,
                             job.w->data(),
                             job.w->in(),
                             job.w->out(),
                             job.w->panel_inputs(),
                             job.bias,
                             job.y,
                             job.y_stride,
                             job.rows * part / d.parts,
                             job.rows * (part + 1) / d.parts,
                             PanelOf(d, band),
                             PanelOf(d, band + 1),
                             LinearScratch(),
                             next};
  const KernelTable& kernels = ActiveKernels();
  if (job.w->is_bf16()) {
    kernels.linear_bf16(piece);
  } else {
    kernels.linear_f32(piece);
  }
}

}  // namespace

void Linear(const float* x, int64_t rows, int64_t x_stride, const PackedMatrix& w, const float* bias,
            float* y, int64_t y_stride, ThreadPool* pool) {
  const LinearJob job = {x, rows, x_stride, &w, bias, y, y_stride};
  LinearBatch(absl::MakeConstSpan(&job, 1), pool);
}

void LinearBatch(absl::Span<const LinearJob> jobs, ThreadPool* pool) {
  int64_t work = 0;
  for (const LinearJob& job : jobs) work += job.rows == 0 ? 0 : Work(job);
  const bool alone = pool == nullptr || pool->threads() == 1 || work < 2 * kWorthAThread;
  const int64_t wanted =
      alone ? 1 : std::min<int64_t>(kPiecesPerThread * pool->threads(), work / kWorthAThread);
  absl::InlinedVector<Division, 8> divisions;
  int64_t pieces = 0;
  for (const LinearJob& job : jobs) {
    if (job.rows == 0 || job.w->out() == 0) continue;
    const double share = static_cast<double>(Work(job)) / static_cast<double>(std::max<int64_t>(1, work));
    Division d = Divide(job, std::lround(share * static_cast<double>(wanted)));
    d.first = pieces;
    pieces += d.bands * d.parts;
    divisions.push_back(d);
  }
  const auto division_of = [&](int64_t i) -> const Division& {
    const auto after = std::upper_bound(divisions.begin(), divisions.end(), i,
                                        [](int64_t piece, const Division& d) { return piece < d.first; });
    return *(after - 1);
  };
  const int64_t threads = alone ? 1 : pool->threads();  // which take pieces in turns
  const auto run = [&](int64_t i) {
    const Division& d = division_of(i);
    const void* next = nullptr;
    if (const int64_t later = i + threads; later < pieces) {
      const Division& other = division_of(later);
      next = WeightsOf(other, later - other.first);
    }
    RunPiece(d, i - d.first, next);
  };
  if (alone) {
    for (int64_t i = 0; i < pieces; ++i) run(i);
  } else {
    pool->ParallelFor(pieces, run);
  }
}

}  // namespace sluice::kernels
