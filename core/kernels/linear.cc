// Packed weights, and how a Linear is divided among threads.
#include <algorithm>
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

void Linear(const float* x, int64_t rows, int64_t x_stride, const PackedMatrix& w, const float* bias,
            float* y, int64_t y_stride, ThreadPool* pool) {
  if (rows == 0) return;
  const KernelTable& kernels = ActiveKernels();
  const int64_t panels = (w.out() + kPanel - 1) / kPanel;
  const LinearPiece whole = {x, x_stride, w.data(), w.is_bf16(), w.in(), w.out(), bias,
                             y, y_stride, 0,        rows,        0,      panels};
  const int64_t work = rows * w.in() * panels * kPanel;
  if (pool == nullptr || pool->threads() == 1 || work < 2 * kWorthAThread) {
    kernels.linear(whole);
    return;
  }
  // Bands of panels first: a band's weights stay in one core's cache. Rows are divided too when bands are
  // few.
  const int64_t wanted = std::min<int64_t>(4 * pool->threads(), work / kWorthAThread);
  const int64_t band = std::max<int64_t>(1, panels / wanted / 4) * 4;
  const int64_t bands = (panels + band - 1) / band;
  const int64_t row_parts = std::min<int64_t>((wanted + bands - 1) / bands, (rows + 11) / 12);
  const int64_t rows_each = ((rows + row_parts - 1) / row_parts + 5) / 6 * 6;
  const int64_t parts = (rows + rows_each - 1) / rows_each;
  pool->ParallelFor(bands * parts, [&](int64_t i) {
    LinearPiece piece = whole;
    piece.panel = i / parts * band;
    piece.panel_end = std::min(panels, piece.panel + band);
    piece.row = i % parts * rows_each;
    piece.row_end = std::min(rows, piece.row + rows_each);
    kernels.linear(piece);
  });
}

}  // namespace sluice::kernels
