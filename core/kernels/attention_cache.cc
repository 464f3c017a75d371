// What lies where in a block.
#include "core/kernels/attention_cache.h"

#include <algorithm>
#include <cstring>

#include "core/kernels/attention.h"
#include "core/kernels/kernel_table.h"

namespace sluice::kernels {
namespace {

constexpr int64_t kLanes = 16;

int64_t RoundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Nearest even; NaN stays NaN.
uint16_t BF16Of(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}
float Widen(uint16_t half) {
  const uint32_t bits = static_cast<uint32_t>(half) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// One position's place in a head's part of a block. `Value` is float or uint16_t.
template <typename Value>
struct Slot {
  static constexpr int64_t kPair = sizeof(Value) == 2 ? 2 : 1;
  Slot(const CacheHead& head, const std::byte* part, int64_t slot)
      : keys(reinterpret_cast<const Value*>(part) + slot * kPair),
        row(reinterpret_cast<const Value*>(part + head.rows_at) + slot / kPair * head.stride * kPair +
            slot % kPair) {}
  int64_t KeyAt(int64_t i) const { return i / kPair * kBlockTokens * kPair + i % kPair; }
  int64_t RowAt(int64_t i) const { return i * kPair; }
  const Value *keys, *row;
};

float Get(float value) { return value; }
float Get(uint16_t value) { return Widen(value); }

template <typename Value>
void LoadSlot(const CacheHead& head, const std::byte* part, int64_t slot, float* key, float* value) {
  const Slot<Value> at(head, part, slot);
  for (int64_t i = 0; i < head.key_dim; ++i) {
    key[i] = Get(head.value_in_key ? at.row[at.RowAt(i)] : at.keys[at.KeyAt(i)]);
  }
  if (value == nullptr) return;
  for (int64_t i = 0; i < head.value_dim; ++i) value[i] = Get(at.row[at.RowAt(i)]);
}

}  // namespace

void RoundToBF16(float* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) values[i] = Widen(BF16Of(values[i]));
}

CacheHead CacheHeadOf(const AttentionShape& shape) {
  CacheHead head = {shape.key_dim, shape.value_dim, shape.value_in_key, shape.bf16, 0, 0, 0};
  const int64_t bytes = shape.bf16 ? 2 : 4;
  head.stride = RoundUp(shape.value_in_key ? shape.key_dim : shape.value_dim, kLanes);
  if (!shape.value_in_key) head.rows_at = RoundUp(shape.key_dim, shape.bf16 ? 2 : 1) * kBlockTokens * bytes;
  head.part_bytes = head.rows_at + kBlockTokens * head.stride * bytes;
  return head;
}

int64_t CacheBlockBytes(const AttentionShape& shape) {
  return shape.kv_heads * CacheHeadOf(shape).part_bytes;
}

void CacheStore(const AttentionShape& shape, const float* key, const float* value, int64_t slot,
                std::byte* block) {
  const CacheHead head = CacheHeadOf(shape);
  const auto store = ActiveKernels().attention.store;
  for (int64_t h = 0; h < shape.kv_heads; ++h) {
    store(head, block + h * head.part_bytes, slot, key + h * shape.key_dim,
          shape.value_in_key ? nullptr : value + h * shape.value_dim);
  }
}

void CacheLoad(const AttentionShape& shape, const std::byte* block, int64_t slot, float* key, float* value) {
  const CacheHead head = CacheHeadOf(shape);
  for (int64_t h = 0; h < shape.kv_heads; ++h) {
    float* k = key + h * shape.key_dim;
    float* v = value == nullptr ? nullptr : value + h * shape.value_dim;
    if (shape.bf16) {
      LoadSlot<uint16_t>(head, block + h * head.part_bytes, slot, k, v);
    } else {
      LoadSlot<float>(head, block + h * head.part_bytes, slot, k, v);
    }
  }
}

}  // namespace sluice::kernels
