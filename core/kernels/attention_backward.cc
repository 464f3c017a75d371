// How the gradients are divided. Groups of rows are taken in order, as many at once as their d_scores have
// room; of these first every block of every kv head is a piece, which adds to its gradient in the rows'
// order, then the queries of every group and kv head are.
#include <map>
#include <utility>

#include "core/kernels/attention.h"
#include "core/kernels/attention_rows.h"
#include "core/kernels/kernel_table.h"

namespace sluice::kernels {
namespace {

constexpr int64_t kGroupPairs = 192;         // (row, head) pairs of a group, at least one row
constexpr int64_t kScoreFloats = 4'000'000;  // d_scores of the groups taken at once
constexpr int64_t kQueryPairs = 64;          // of one piece of the second kind

// One kv head of one group, with its heads gathered.
struct Piece {
  RowGroup group;
  int64_t kv_head, m, blocks;
  std::vector<float> q, d_out, d_dot, log_sum_exp;
  std::vector<float> d_scores, d_q;  // [blocks, m, 64], [m, key_dim]
};
// A block of a piece.
struct PieceBlock {
  int64_t piece, block;
};

class Backward {
 public:
  Backward(const AttentionShape& shape, const float* q, absl::Span<const CachedRow> rows,
           const AttentionGradient& gradient, ThreadPool* pool)
      : shape_(shape),
        cache_(CacheHeadOf(shape)),
        heads_(shape.heads / shape.kv_heads),
        q_(q),
        rows_(rows),
        gradient_(gradient),
        pool_(pool),
        lengths_(LengthsOf(rows)) {}

  void Run() {
    const std::vector<RowGroup> groups =
        GroupRows(rows_.size(), std::max<int64_t>(1, kGroupPairs / heads_), [&](int64_t r) {
          return rows_[r].blocks == rows_[r - 1].blocks && gradient_.d_blocks[r] == gradient_.d_blocks[r - 1];
        });
    for (size_t next = 0; next < groups.size();) {
      pieces_.clear();
      work_ = 0;
      for (int64_t floats = 0; next < groups.size() && (floats == 0 || floats < kScoreFloats); ++next) {
        floats += AddPieces(groups[next]);
      }
      Blocks();
      Queries();
    }
  }

 private:
  HeadSlice Slice(int64_t kv_head, int64_t dim) const {
    return {shape_.heads, kv_head * heads_, heads_, dim};
  }
  AttentionGroup Forward(const Piece& p) const {
    return {cache_,
            p.kv_head * cache_.part_bytes,
            p.q.data(),
            rows_[p.group.first].blocks,
            lengths_.data() + p.group.first,
            p.group.rows,
            heads_,
            shape_.scale};
  }

  // Returns how many scores they have.
  int64_t AddPieces(const RowGroup& group) {
    const auto first = lengths_.begin() + group.first;
    const int64_t longest = *std::max_element(first, first + group.rows);
    const int64_t blocks = (longest + kBlockTokens - 1) / kBlockTokens, m = group.rows * heads_;
    for (int64_t h = 0; h < shape_.kv_heads; ++h)
      pieces_.push_back({group, h, m, blocks, {}, {}, {}, {}, {}, {}});
    work_ += group.rows * shape_.heads * longest * (shape_.key_dim + shape_.value_dim) * 3;
    return blocks * m * kBlockTokens * shape_.kv_heads;
  }

  void Gather(Piece* p) const {
    const int64_t first = p->group.first * shape_.heads, rows = p->group.rows, dim = shape_.value_dim;
    std::vector<float> out(p->m * dim);
    p->q.resize(p->m * shape_.key_dim);
    p->d_out.resize(p->m * dim);
    p->d_dot.resize(p->m);
    p->log_sum_exp.resize(p->m);
    p->d_scores.resize(p->blocks * p->m * kBlockTokens);
    p->d_q.resize(p->m * shape_.key_dim);
    Slice(p->kv_head, shape_.key_dim).Gather(q_ + first * shape_.key_dim, rows, p->q.data());
    if (cache_.bf16 && ActiveKernels().attention.rounds_queries) RoundToBF16(p->q.data(), p->q.size());
    Slice(p->kv_head, dim).Gather(gradient_.d_out + first * dim, rows, p->d_out.data());
    Slice(p->kv_head, dim).Gather(gradient_.out + first * dim, rows, out.data());
    Slice(p->kv_head, 1).Gather(gradient_.log_sum_exp + first, rows, p->log_sum_exp.data());
    for (int64_t i = 0; i < p->m; ++i) {
      p->d_dot[i] = ActiveKernels().dot(p->d_out.data() + i * dim, out.data() + i * dim, dim);
    }
  }

  float* GradientOf(const Piece& p, int64_t block) const {
    float* const* blocks = gradient_.d_blocks[p.group.first];
    return blocks == nullptr ? nullptr : blocks[block];
  }

  void AddBlock(const PieceBlock& at) {
    Piece& p = pieces_[at.piece];
    const int64_t value_dim = shape_.value_in_key ? 0 : shape_.value_dim;
    float* d_block = GradientOf(p, at.block);
    BlockGradient into = {};
    if (d_block != nullptr) {
      into = {d_block + p.kv_head * shape_.key_dim,
              d_block + shape_.kv_heads * shape_.key_dim + p.kv_head * value_dim,
              shape_.kv_heads * (shape_.key_dim + value_dim)};
    }
    ActiveKernels().attention.backward_block(
        {Forward(p), p.log_sum_exp.data(), p.d_out.data(), p.d_dot.data()}, at.block,
        d_block == nullptr ? nullptr : &into, p.d_scores.data() + at.block * p.m * kBlockTokens,
        ThreadScratch(AttentionScratch(p.m, cache_)));
  }

  // Blocks whose gradients go to the same place are one thread's, in the order of the groups.
  void Blocks() {
    RunPieces(pool_, pieces_.size(), work_, [&](int64_t i) { Gather(&pieces_[i]); });
    std::vector<std::vector<PieceBlock>> chains;
    std::map<std::pair<float*, int64_t>, size_t> chain_of;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      for (int64_t b = 0; b < pieces_[i].blocks; ++b) {
        float* d_block = GradientOf(pieces_[i], b);
        size_t chain = chains.size();
        if (d_block != nullptr)
          chain = chain_of.emplace(std::pair(d_block, pieces_[i].kv_head), chain).first->second;
        if (chain == chains.size()) chains.emplace_back();
        chains[chain].push_back({static_cast<int64_t>(i), b});
      }
    }
    RunPieces(pool_, chains.size(), work_, [&](int64_t i) {
      for (const PieceBlock& at : chains[i]) AddBlock(at);
    });
  }

  void Queries() {
    struct Part {
      size_t piece;
      int64_t row, row_end;
    };
    const int64_t each = std::max<int64_t>(1, kQueryPairs / heads_);
    std::vector<Part> parts;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      const int64_t rows = pieces_[i].group.rows;
      for (int64_t r = 0; r < rows; r += each) parts.push_back({i, r, std::min(rows, r + each)});
    }
    RunPieces(pool_, parts.size(), work_, [&](int64_t i) {
      const Part& part = parts[i];
      Piece& p = pieces_[part.piece];
      ActiveKernels().attention.backward_queries(Forward(p), part.row, part.row_end, p.d_scores.data(),
                                                 p.d_q.data(), ThreadScratch(AttentionScratch(p.m, cache_)));
      Slice(p.kv_head, shape_.key_dim)
          .Scatter(p.d_q.data() + part.row * heads_ * shape_.key_dim, part.row_end - part.row,
                   gradient_.d_q + (p.group.first + part.row) * shape_.heads * shape_.key_dim);
    });
  }

  const AttentionShape shape_;
  const CacheHead cache_;
  const int64_t heads_;  // that read one kv head
  const float* const q_;
  const absl::Span<const CachedRow> rows_;
  const AttentionGradient& gradient_;
  ThreadPool* const pool_;
  const std::vector<int64_t> lengths_;
  std::vector<Piece> pieces_;
  int64_t work_ = 0;  // multiply-adds of pieces_
};

}  // namespace

void AttentionBackward(const AttentionShape& shape, const float* q, absl::Span<const CachedRow> rows,
                       const AttentionGradient& gradient, ThreadPool* pool) {
  Backward(shape, q, rows, gradient, pool).Run();
}

}  // namespace sluice::kernels
