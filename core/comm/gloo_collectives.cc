#include "core/comm/gloo_collectives.h"

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
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

std::chrono::milliseconds Remaining(absl::Time deadline) {
  const absl::Duration left = std::min(deadline - absl::Now(), absl::Hours(24));
  return std::max(absl::ToChronoMilliseconds(left), std::chrono::milliseconds(1));
}

absl::Status FromException(const char* operation, const std::exception& error, absl::Time deadline) {
  std::string what = error.what();
  what = what.substr(0, what.find('\n'));
  if (absl::Now() >= deadline || absl::StrContains(what, "imed out") || absl::StrContains(what, "imeout")) {
    return absl::DeadlineExceededError(absl::StrCat(operation, " waited for the other ranks: ", what));
  }
  return absl::UnavailableError(absl::StrCat(operation, ": ", what));
}

class GlooCollectives final : public Collectives {
 public:
  GlooCollectives(c10::intrusive_ptr<c10d::ProcessGroupGloo> group, int rank, int size)
      : group_(std::move(group)), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  absl::Status Broadcast(absl::Span<char> bytes, int root, absl::Time deadline) override {
    SLUICE_RETURN_IF_ERROR(CheckBroadcast(size_, root));
    return Run("Broadcast", deadline, [&] {
      c10d::BroadcastOptions options;
      options.rootRank = root;
      options.timeout = Remaining(deadline);
      std::vector<at::Tensor> tensors = {Bytes(bytes.data(), bytes.size())};
      return group_->broadcast(tensors, options);
    });
  }

  absl::Status AllGather(absl::Span<const char> mine, absl::Span<char> all, absl::Time deadline) override {
    SLUICE_RETURN_IF_ERROR(CheckPieces("AllGather", size_, mine.size(), all.size()));
    if (mine.empty()) return Barrier(deadline);
    return Run("AllGather", deadline, [&] {
      c10d::AllgatherOptions options;
      options.timeout = Remaining(deadline);
      at::Tensor in = Bytes(const_cast<char*>(mine.data()), mine.size());
      std::vector<std::vector<at::Tensor>> outs(1);
      for (int r = 0; r < size_; ++r) outs[0].push_back(Bytes(all.data() + r * mine.size(), mine.size()));
      std::vector<at::Tensor> ins = {in};
      return group_->allgather(outs, ins, options);
    });
  }

  // All-to-all, then a sum in rank order.
  absl::Status ReduceScatterSum(absl::Span<const float> values, absl::Span<float> mine,
                                absl::Time deadline) override {
    SLUICE_RETURN_IF_ERROR(CheckPieces("ReduceScatterSum", size_, mine.size(), values.size()));
    if (mine.empty()) return Barrier(deadline);
    std::vector<float> parts(values.size());
    SLUICE_RETURN_IF_ERROR(Run("ReduceScatterSum", deadline, [&] {
      c10d::AllToAllOptions options;
      options.timeout = Remaining(deadline);
      const int64_t n = static_cast<int64_t>(values.size());
      at::Tensor in = torch::from_blob(const_cast<float*>(values.data()), {n}, torch::kFloat32);
      at::Tensor out = torch::from_blob(parts.data(), {n}, torch::kFloat32);
      std::vector<int64_t> equal_splits;
      return group_->alltoall_base(out, in, equal_splits, equal_splits, options);
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
  static at::Tensor Bytes(char* data, size_t size) {
    return torch::from_blob(data, {static_cast<int64_t>(size)}, torch::kUInt8);
  }

  template <typename Start>
  absl::Status Run(const char* operation, absl::Time deadline, Start start) {
    if (broken_) return absl::UnavailableError("the gang is broken: an operation failed before");
    try {
      start()->wait(Remaining(deadline));
      return absl::OkStatus();
    } catch (const std::exception& error) {
      broken_ = true;
      return FromException(operation, error, deadline);
    }
  }

  const c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
  const int rank_, size_;
  bool broken_ = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Collectives>> ConnectGloo(const GlooOptions& options, KeyValue* store,
                                                         absl::Time deadline) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
    return absl::InvalidArgumentError(absl::StrCat("rank ", options.rank, " of ", options.size, " ranks"));
  }
  if (options.address.empty() == options.interface_name.empty()) {
    return absl::InvalidArgumentError(
        "Gloo needs an address or the name of an interface to listen on, not both");
  }
  try {
    auto values = c10::make_intrusive<KeyValueStore>(store, Remaining(deadline));
    auto prefixed = c10::make_intrusive<c10d::PrefixStore>(options.gang, values);
    auto gloo = c10d::ProcessGroupGloo::Options::create(Remaining(deadline));
    gloo->threads = 1;
    gloo->devices.push_back(options.interface_name.empty()
                                ? c10d::ProcessGroupGloo::createDeviceForHostname(options.address)
                                : c10d::ProcessGroupGloo::createDeviceForInterface(options.interface_name));
    auto group = c10::make_intrusive<c10d::ProcessGroupGloo>(prefixed, options.rank, options.size, gloo);
    return std::make_unique<GlooCollectives>(std::move(group), options.rank, options.size);
  } catch (const std::exception& error) {
    return FromException("connecting the ranks", error, deadline);
  }
}

}  // namespace sluice
