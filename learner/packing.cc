#include "learner/packing.h"

#include <algorithm>
#include <numeric>

#include "core/kernels/kernels.h"

namespace sluice {
namespace {

constexpr int64_t kBlock = kernels::kBlockTokens;

class Packer {
 public:
  explicit Packer(PackedBatch* batch) : batch_(*batch) {}

  void Add(const PackGroup& group) {
    const int64_t prompt_rows = static_cast<int64_t>(group.prompt.size());
    const int64_t first_row = batch_.rows();
    const int32_t prompt_table = NewTable({});
    RecordedExperts experts;
    for (const PackCompletion& completion : group.completions) {
      if (experts.ids == nullptr) experts = completion.experts;
    }
    for (int64_t p = 0; p < prompt_rows; ++p) AddRow(group.prompt[p], p, prompt_table, experts.OfRow(p));

    const int32_t prompt_head = static_cast<int32_t>(batch_.head_rows.size());
    batch_.head_rows.push_back(first_row + prompt_rows - 1);
    for (const PackCompletion& completion : group.completions) {
      if (!completion.tokens.empty()) {
        batch_.targets.push_back({prompt_head, completion.tokens[0], completion.id, 0});
      }
    }
    for (const PackCompletion& completion : group.completions) {
      if (completion.tokens.size() > 1) AddCompletion(completion, prompt_table, first_row, prompt_rows);
    }
  }

 private:
  void AddCompletion(const PackCompletion& completion, int32_t prompt_table, int64_t first_row,
                     int64_t prompt_rows) {
    const int64_t full = prompt_rows / kBlock;
    std::vector<int64_t>& blocks = batch_.layout.tables[prompt_table];
    const int32_t table = NewTable({blocks.begin(), blocks.begin() + full});
    for (int64_t p = full * kBlock; p < prompt_rows; ++p) {
      batch_.layout.copies.emplace_back(first_row + p, SlotOf(table, p));
    }
    for (size_t t = 0; t + 1 < completion.tokens.size(); ++t) {
      const int32_t head = static_cast<int32_t>(batch_.head_rows.size());
      batch_.head_rows.push_back(batch_.rows());
      batch_.targets.push_back({head, completion.tokens[t + 1], completion.id, static_cast<int32_t>(t + 1)});
      const int64_t position = prompt_rows + static_cast<int64_t>(t);
      AddRow(completion.tokens[t], position, table, completion.experts.OfRow(position));
    }
  }

  int32_t NewTable(std::vector<int64_t> blocks) {
    batch_.layout.tables.push_back(std::move(blocks));
    return static_cast<int32_t>(batch_.layout.tables.size()) - 1;
  }

  int64_t SlotOf(int32_t table, int64_t position) {
    std::vector<int64_t>& blocks = batch_.layout.tables[table];
    while (static_cast<int64_t>(blocks.size()) <= position / kBlock) blocks.push_back(batch_.layout.blocks++);
    return blocks[position / kBlock] * kBlock + position % kBlock;
  }

  void AddRow(int32_t token, int64_t position, int32_t table, const uint16_t* experts) {
    if (experts != nullptr) {
      batch_.experts.resize(batch_.tokens.size(), nullptr);
      batch_.experts.push_back(experts);
    }
    batch_.tokens.push_back(token);
    batch_.positions.push_back(static_cast<int32_t>(position));
    batch_.layout.slot_of_row.push_back(SlotOf(table, position));
    batch_.layout.table_of_row.push_back(table);
  }

  PackedBatch& batch_;
};

int64_t RowsOf(const PackCompletion& completion) {
  return std::max<int64_t>(static_cast<int64_t>(completion.tokens.size()) - 1, 0);
}

}  // namespace

PackedBatch Pack(absl::Span<const PackGroup> groups) {
  PackedBatch batch;
  Packer packer(&batch);
  for (const PackGroup& group : groups) packer.Add(group);
  if (!batch.experts.empty()) batch.experts.resize(batch.tokens.size(), nullptr);
  return batch;
}

std::vector<std::vector<PackGroup>> PlanMicroBatches(absl::Span<const PackGroup> groups, int64_t max_tokens) {
  std::vector<std::vector<PackGroup>> plan;
  int64_t rows = 0;
  for (const PackGroup& group : groups) {
    const int64_t prompt_rows = static_cast<int64_t>(group.prompt.size());
    int64_t whole = prompt_rows;
    for (const PackCompletion& c : group.completions) whole += RowsOf(c);
    bool open = false;  // whether this group has a part in the last micro-batch
    // A group that fits into a micro-batch of its own is not split.
    if (plan.empty() || (rows + whole > max_tokens && rows > 0)) plan.emplace_back(), rows = 0;
    for (const PackCompletion& completion : group.completions) {
      if (completion.tokens.empty()) continue;
      int64_t needed = RowsOf(completion) + (open ? 0 : prompt_rows);
      if (rows > 0 && rows + needed > max_tokens) {
        plan.emplace_back();
        rows = 0;
        open = false;
        needed = RowsOf(completion) + prompt_rows;
      }
      if (!open) plan.back().push_back({group.prompt, {}});
      open = true;
      plan.back().back().completions.push_back(completion);
      rows += needed;
    }
  }
  while (!plan.empty() && plan.back().empty()) plan.pop_back();
  return plan;
}

std::vector<std::vector<size_t>> Distribute(absl::Span<const int64_t> costs, int ranks) {
  std::vector<size_t> order(costs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return costs[a] > costs[b]; });
  std::vector<std::vector<size_t>> shares(ranks);
  std::vector<int64_t> load(ranks, 0);
  for (size_t item : order) {
    const size_t rank = std::min_element(load.begin(), load.end()) - load.begin();
    shares[rank].push_back(item);
    load[rank] += costs[item];
  }
  for (auto& share : shares) std::sort(share.begin(), share.end());
  return shares;
}

}  // namespace sluice
