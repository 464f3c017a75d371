// A list whose copies share their elements until one of them changes: copying it costs the same whatever it
// holds. Copies may be used by several threads, one each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace sluice {

template <typename T>
class SharedList {
 public:
  using value_type = T;
  using reference = const T&;
  using const_reference = const T&;
  using const_iterator = typename std::vector<T>::const_iterator;
  using iterator = const_iterator;
  using size_type = size_t;
  using difference_type = std::ptrdiff_t;

  SharedList() = default;
  SharedList(std::vector<T> items)  // NOLINT(google-explicit-constructor): a list is one
      : items_(std::make_shared<const std::vector<T>>(std::move(items))) {}

  size_t size() const { return items_ == nullptr ? 0 : items_->size(); }
  bool empty() const { return size() == 0; }
  const_iterator begin() const { return items_ == nullptr ? const_iterator() : items_->begin(); }
  const_iterator end() const { return items_ == nullptr ? const_iterator() : items_->end(); }
  const T& operator[](size_t place) const { return (*items_)[place]; }
  const T& at(size_t place) const { return items_->at(place); }
  const T& back() const { return items_->back(); }
  // True: one is a copy of the other, and neither changed since.
  bool IsSame(const SharedList& other) const { return items_ == other.items_; }

  // Both cost a copy of the elements.
  void push_back(T item) { Append(std::move(item), size() + 1); }
  // The last `most`, the new one among them, stay.
  void Append(T item, size_t most) {
    std::vector<T> items;
    items.reserve(std::min(size() + 1, most));
    items.assign(end() - static_cast<std::ptrdiff_t>(std::min(size(), most - 1)), end());
    items.push_back(std::move(item));
    *this = SharedList(std::move(items));
  }

 private:
  std::shared_ptr<const std::vector<T>> items_;  // shared with copies; null: empty
};

}  // namespace sluice
