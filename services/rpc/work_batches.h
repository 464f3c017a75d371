// Messages of the Work stream that wait to be sent: what is added goes into the last one until that is full.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>

namespace sluice {

template <typename Message>
class WorkBatches {
 public:
  // Of one message. A single larger item has a message of its own.
  static constexpr size_t kItems = 1024, kBytes = size_t{1} << 20;

  // Where to add one more item of so many bytes.
  Message& Room(size_t bytes) {
    if (batches_.empty() || batches_.back().items >= kItems || batches_.back().bytes + bytes > kBytes)
      batches_.emplace_back();
    Batch& last = batches_.back();
    ++last.items;
    ++items_;
    last.bytes += bytes;
    bytes_ += bytes;
    return last.message;
  }
  // The oldest; there must be one.
  Message Take() {
    Batch oldest = std::move(batches_.front());
    batches_.pop_front();
    items_ -= oldest.items;
    bytes_ -= oldest.bytes;
    return std::move(oldest.message);
  }
  void Clear() { *this = {}; }
  bool empty() const { return batches_.empty(); }
  size_t items() const { return items_; }
  size_t bytes() const { return bytes_; }

 private:
  struct Batch {
    Message message;
    size_t items = 0, bytes = 0;
  };
  std::deque<Batch> batches_;
  size_t items_ = 0, bytes_ = 0;
};

}  // namespace sluice
