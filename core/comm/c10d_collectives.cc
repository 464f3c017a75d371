#include "core/comm/c10d_collectives.h"

#include <algorithm>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/status.h"

namespace sluice {
namespace {

// c10d's view of a KeyValue. c10d expects exceptions; they are turned into Status where c10d is called.
class KeyValueStore final : public c10d::Store {
 public:
  KeyValueStore(KeyValue* values, std::chrono::milliseconds timeout)
      : c10d::Store(timeout), values_(values) {}

  c10::intrusive_ptr<c10d::Store> clone() override {
    return c10::make_intrusive<KeyValueStore>(values_, timeout_);
  }
  void set(const std::string& key, const std::vector<uint8_t>& value) override {
    Need(values_->Set(key, std::string(value.begin(), value.end()), Deadline(timeout_)));
  }
  std::vector<uint8_t> get(const std::string& key) override {
    const std::string value = Need(values_->Get(key, Deadline(timeout_)));
    return std::vector<uint8_t>(value.begin(), value.end());
  }
  int64_t add(const std::string& key, int64_t delta) override {
    return Need(values_->Add(key, delta, Deadline(timeout_)));
  }
  bool deleteKey(const std::string&) override {
    return false;
  }  // keys stay until the gang's store is cleared
  bool check(const std::vector<std::string>& keys) override {
    return Need(values_->Check(keys, Deadline(timeout_)));
  }
  int64_t getNumKeys() override { TORCH_CHECK(false, "this store does not count its keys"); }
  void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    const absl::Time deadline = Deadline(timeout);
    for (const std::string& key : keys) Need(values_->Get(key, deadline));
  }

 private:
  static absl::Time Deadline(std::chrono::milliseconds timeout) {
    return absl::Now() + absl::FromChrono(timeout);
  }
  static void Need(const absl::Status& status) {
    TORCH_CHECK(status.ok(), "rendezvous store: ", status.ToString());
  }
  template <typename T>
  static T Need(absl::StatusOr<T> value) {
    Need(value.status());
    return *std::move(value);
  }
  KeyValue* const values_;
};

class C10dCollectives final : public Collectives {
 public:
  C10dCollectives(c10::intrusive_ptr<c10d::Backend> group, int rank, int size, at::Device device)
      : group_(std::move(group)), rank_(rank), size_(size), device_(device) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  absl::Status Broadcast(absl::Span<char> bytes, int root, absl::Time deadline) override {
    SLUICE_RETURN_IF_ERROR(CheckBroadcast(size_, root));
    return Run(absl::StrCat("Broadcast of ", bytes.size(), " bytes from rank ", root), deadline, [&] {
      c10d::BroadcastOptions options;
      options.rootRank = root;
      options.timeout = TimeLeft(deadline);
      std::vector<at::Tensor> tensors = {OnDevice(bytes.data(), bytes.size(), torch::kUInt8)};
      group_->broadcast(tensors, options)->wait(TimeLeft(deadline));
      ToHost(tensors[0], bytes.data());
    });
  }

  absl::Status AllGather(absl::Span<const char> mine, absl::Span<char> all, absl::Time deadline) override {
    SLUICE_RETURN_IF_ERROR(CheckPieces("AllGather", size_, mine.size(), all.size()));
    if (mine.empty()) return Barrier(deadline);
    return Run(absl::StrCat("AllGather of ", all.size(), " bytes"), deadline, [&] {
      c10d::AllgatherOptions options;
      options.timeout = TimeLeft(deadline);
      std::vector<at::Tensor> ins = {OnDevice(const_cast<char*>(mine.data()), mine.size(), torch::kUInt8)};
      at::Tensor out = OnDevice(all.data(), all.size(), torch::kUInt8);
      std::vector<std::vector<at::Tensor>> outs = {out.chunk(size_)};
      group_->allgather(outs, ins, options)->wait(TimeLeft(deadline));
      ToHost(out, all.data());
    });
  }

  // All-to-all, then a sum in rank order.
  absl::Status ReduceScatterSum(absl::Span<const float> values, absl::Span<float> mine,
                                absl::Time deadline) override {
    SLUICE_RETURN_IF_ERROR(CheckPieces("ReduceScatterSum", size_, mine.size(), values.size()));
    if (mine.empty()) return Barrier(deadline);
    std::vector<float> parts(values.size());
    SLUICE_RETURN_IF_ERROR(Run(absl::StrCat("ReduceScatterSum of ", values.size(), " values"), deadline, [&] {
      c10d::AllToAllOptions options;
      options.timeout = TimeLeft(deadline);
      at::Tensor in = OnDevice(const_cast<float*>(values.data()), values.size(), torch::kFloat32);
      at::Tensor out = OnDevice(parts.data(), parts.size(), torch::kFloat32);
      std::vector<int64_t> equal_splits;
      group_->alltoall_base(out, in, equal_splits, equal_splits, options)->wait(TimeLeft(deadline));
      ToHost(out, parts.data());
    }));
    std::copy_n(parts.begin(), mine.size(), mine.begin());
    for (int r = 1; r < size_; ++r) {
      const float* from = parts.data() + r * mine.size();
      for (size_t i = 0; i < mine.size(); ++i) mine[i] += from[i];
    }
    return absl::OkStatus();
  }

  // All-gather, then a sum in rank order.
  absl::Status AllReduceSum(absl::Span<double> values, absl::Time deadline) override {
    if (values.empty()) return Barrier(deadline);
    std::vector<double> all(values.size() * size_);
    const size_t bytes = values.size() * sizeof(double);
    SLUICE_RETURN_IF_ERROR(AllGather({reinterpret_cast<const char*>(values.data()), bytes},
                                     {reinterpret_cast<char*>(all.data()), bytes * size_}, deadline));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = all[i];
      for (int r = 1; r < size_; ++r) values[i] += all[r * values.size() + i];
    }
    return absl::OkStatus();
  }

  absl::Status Barrier(absl::Time deadline) override {
    char one = 0;
    std::vector<char> all(size_);
    return AllGather({&one, 1}, absl::MakeSpan(all), deadline);
  }

 private:
  // On the processor a view of `data`; on another device a copy.
  at::Tensor OnDevice(void* data, size_t count, at::ScalarType type) const {
    at::Tensor host = torch::from_blob(data, {static_cast<int64_t>(count)}, type);
    return device_.is_cpu() ? host : host.to(device_);
  }
  void ToHost(const at::Tensor& tensor, void* data) const {
    if (!device_.is_cpu()) torch::from_blob(data, tensor.sizes(), tensor.scalar_type()).copy_(tensor);
  }

  template <typename Body>
  absl::Status Run(const std::string& operation, absl::Time deadline, Body body) {
    if (broken_) return absl::UnavailableError("the gang is broken: an operation failed before");
    try {
      body();
      return absl::OkStatus();
    } catch (const std::exception& error) {
      broken_ = true;
      return C10dStatus(absl::StrCat(operation, ", rank ", rank_, " of ", size_), error, deadline);
    }
  }

  const c10::intrusive_ptr<c10d::Backend> group_;
  const int rank_, size_;
  const at::Device device_;
  bool broken_ = false;
};

}  // namespace

std::chrono::milliseconds TimeLeft(absl::Time deadline) {
  const absl::Duration left = std::min(deadline - absl::Now(), absl::Hours(24));
  return std::max(absl::ToChronoMilliseconds(left), std::chrono::milliseconds(1));
}

absl::Status C10dStatus(const std::string& operation, const std::exception& error, absl::Time deadline) {
  std::string what = error.what();
  what = what.substr(0, what.find('\n'));
  if (absl::Now() >= deadline || absl::StrContains(what, "imed out") || absl::StrContains(what, "imeout")) {
    return absl::DeadlineExceededError(
        absl::StrCat(operation, ": not all ranks came to it by its deadline: ", what));
  }
  return absl::UnavailableError(absl::StrCat(operation, ": ", what));
}

c10::intrusive_ptr<c10d::Store> MakeRendezvousStore(KeyValue* values, const std::string& gang,
                                                    absl::Time deadline) {
  auto store = c10::make_intrusive<KeyValueStore>(values, TimeLeft(deadline));
  return c10::make_intrusive<c10d::PrefixStore>(gang, std::move(store));
}

std::unique_ptr<Collectives> MakeC10dCollectives(c10::intrusive_ptr<c10d::Backend> backend, int rank,
                                                 int size, at::Device device) {
  return std::make_unique<C10dCollectives>(std::move(backend), rank, size, device);
}

}  // namespace sluice
