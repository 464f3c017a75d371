#include "learner/products.h"

#include <algorithm>
#include <utility>

namespace sluice::learner {
namespace {

constexpr int64_t kWorthAThread = 2'000'000;    // multiply-adds
constexpr int64_t kWidened = int64_t{1} << 19;  // weights that are widened at once: they stay in cache

int64_t WorkOf(const Product& p) {
  int64_t work = 0;
  for (const Product::Term& term : p.terms) work += p.c.size(0) * p.c.size(1) * term.a.size(1);
  return work;
}

// A band of a product's rows.
struct Band {
  const Product* product;
  int64_t row, rows;
};

// c (+)= a b
void Multiply(at::Tensor c, const at::Tensor& a, const at::Tensor& b, bool add) {
  if (add) {
    c.addmm_(a, b);
  } else {
    at::mm_out(c, a, b);
  }
}

void Run(const Band& band) {
  const at::NoGradGuard no_grad;
  const at::Tensor c = band.product->c.narrow(0, band.row, band.rows);
  bool add = band.product->add;
  for (const Product::Term& term : band.product->terms) {
    const at::Tensor a = term.a.narrow(0, band.row, band.rows);
    const bool wide = term.b.scalar_type() == at::kFloat;
    const int64_t k = term.b.size(0);
    const int64_t step = wide ? k : std::max<int64_t>(64, kWidened / std::max<int64_t>(term.b.size(1), 1));
    for (int64_t from = 0; from < k; from += step) {
      const int64_t count = std::min(step, k - from);
      Multiply(c, a.narrow(1, from, count), term.b.narrow(0, from, count).to(at::kFloat), add);
      add = true;
    }
  }
}

}  // namespace

void RunProducts(absl::Span<const Product> products, ThreadPool* pool) {
  const int64_t threads = pool == nullptr ? 1 : pool->threads();
  std::vector<Band> bands;
  int64_t total = 0;
  for (const Product& p : products) {
    const int64_t work = WorkOf(p), rows = p.c.size(0), most = threads == 1 ? 1 : 2 * threads;
    const int64_t parts = std::max<int64_t>(1, std::min({rows, most, work / kWorthAThread}));
    for (int64_t i = 0; i < parts; ++i) {
      bands.push_back({&p, rows * i / parts, rows * (i + 1) / parts - rows * i / parts});
    }
    total += work;
  }
  if (threads == 1 || total < 2 * kWorthAThread) {
    for (const Band& band : bands) Run(band);
  } else {
    pool->ParallelFor(static_cast<int64_t>(bands.size()), [&](int64_t i) { Run(bands[i]); });
  }
}

}  // namespace sluice::learner
