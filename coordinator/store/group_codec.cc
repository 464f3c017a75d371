#include "coordinator/store/group_codec.h"

#include <cstring>
#include <type_traits>

namespace sluice {
namespace {

constexpr uint32_t kFormat = 3, kFormatWithoutTests = 2, kFormatWithoutAlternatives = 1;
constexpr uint32_t kProgressFormat = 0x10003;  // a trajectory of format 3, after its job

// Both sides walk a group with the same Visit functions, so that they cannot disagree on the order.
class ByteWriter {
 public:
  static constexpr bool kReads = false;
  template <typename T>
  void Number(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void Text(const std::string& text) {
    Size(text.size());
    out_ += text;
  }
  template <typename T>
  void Numbers(const std::vector<T>& values) {
    Size(values.size());
    out_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  template <typename T, typename F>
  void Items(const std::vector<T>& items, F visit) {
    Size(items.size());
    for (const T& item : items) visit(item);
  }
  void Map(const std::map<std::string, std::string>& map) {
    Size(map.size());
    for (const auto& [key, value] : map) {
      Text(key);
      Text(value);
    }
  }
  std::string Take() { return std::move(out_); }

 private:
  void Size(size_t size) { Number(static_cast<uint32_t>(size)); }
  std::string out_;
};

class ByteReader {
 public:
  static constexpr bool kReads = true;
  explicit ByteReader(absl::string_view in) : in_(in) {}
  template <typename T>
  void Number(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!Has(sizeof(T))) return;
    std::memcpy(&value, in_.data(), sizeof(T));
    in_.remove_prefix(sizeof(T));
  }
  void Text(std::string& text) {
    const size_t size = Size(1);
    text.assign(in_.data(), size);
    in_.remove_prefix(size);
  }
  template <typename T>
  void Numbers(std::vector<T>& values) {
    const size_t size = Size(sizeof(T));
    values.resize(size);
    if (size > 0) std::memcpy(values.data(), in_.data(), size * sizeof(T));
    in_.remove_prefix(size * sizeof(T));
  }
  template <typename T, typename F>
  void Items(std::vector<T>& items, F visit) {
    items.resize(Size(1));
    for (T& item : items) visit(item);
  }
  void Map(std::map<std::string, std::string>& map) {
    for (size_t left = Size(1); left > 0; --left) {
      std::string key, value;
      Text(key);
      Text(value);
      map.emplace(std::move(key), std::move(value));
    }
  }
  bool Done() const { return ok_ && in_.empty(); }

 private:
  bool Has(size_t bytes) {
    ok_ = ok_ && in_.size() >= bytes;
    return ok_;
  }
  // A count of things of at least `least` bytes each; 0 once something was wrong.
  size_t Size(size_t least) {
    uint32_t size = 0;
    Number(size);
    return Has(size_t{size} * least) ? size : 0;
  }
  absl::string_view in_;
  bool ok_ = true;
};

// What format 1 did not have.
template <typename Io, typename T>
void VisitAlternatives(Io& io, T& t) {
  io.Items(t.alternatives, [&](auto& alternative) {
    io.Number(alternative.token);
    io.Number(alternative.raw_logprob);
  });
  io.Number(t.experts.moe_layers);
  io.Number(t.experts.per_token);
  io.Numbers(t.experts.ids);
}

template <typename Io, typename T>
void VisitTrajectory(Io& io, T& t, uint32_t format) {
  io.Number(t.key.draw);
  io.Number(t.key.index);
  io.Numbers(t.tokens);
  io.Numbers(t.raw_logprobs);
  io.Numbers(t.processed_logprobs);
  io.Items(t.spans, [&](auto& span) {
    io.Number(span.begin);
    io.Number(span.end);
    io.Number(span.version);
    io.Text(span.manifest_hash);
    io.Text(span.kernel_path);
  });
  io.Number(t.finish_reason);
  io.Text(t.text);
  io.Text(t.worker);
  io.Number(t.attempt);
  if (format > kFormatWithoutAlternatives) VisitAlternatives(io, t);
}

// What formats before 3 did not have.
template <typename Io, typename T>
void VisitParts(Io& io, T& c) {
  io.Text(c.outcome);
  io.Items(c.tests, [&](auto& test) {
    io.Text(test.outcome);
    io.Number(test.seconds);
    io.Number(test.memory_bytes);
    io.Text(test.detail);
  });
  io.Items(c.steps, [&](auto& step) {
    io.Number(step.end_offset);
    io.Number(step.score);
  });
  io.Items(c.stamps, [&](auto& stamp) { io.Text(stamp); });
}

template <typename Io, typename T>
void VisitVerdict(Io& io, T& v, uint32_t format) {
  io.Number(v.kind);
  io.Number(v.value);
  io.Items(v.components, [&](auto& c) {
    io.Text(c.name);
    io.Number(c.kind);
    io.Number(c.value);
    io.Number(c.weight);
    io.Text(c.detail);
    if (format > kFormatWithoutTests) VisitParts(io, c);
  });
  io.Text(v.detail);
  io.Number(v.seconds);
}

template <typename Io, typename T>
void VisitGroup(Io& io, T& group, uint32_t format) {
  io.Number(group.draw);
  io.Text(group.prompt.uid);
  io.Text(group.prompt.text);
  io.Numbers(group.prompt.tokens);
  io.Map(group.prompt.fields);
  io.Items(group.samples, [&](auto& s) {
    VisitTrajectory(io, s.trajectory, format);
    VisitVerdict(io, s.verdict, format);
    io.Number(s.advantage);
  });
}

}  // namespace

std::string EncodeGroup(const Group& group) {
  ByteWriter writer;
  writer.Number(kFormat);
  VisitGroup(writer, group, kFormat);
  return writer.Take();
}

absl::StatusOr<Group> DecodeGroup(absl::string_view bytes) {
  ByteReader reader(bytes);
  uint32_t format = 0;
  reader.Number(format);
  if (format < kFormatWithoutAlternatives || format > kFormat)
    return absl::DataLossError("the record is not a group of a known format");
  Group group;
  VisitGroup(reader, group, format);
  if (!reader.Done()) return absl::DataLossError("the record is not a whole group");
  return group;
}

std::string EncodeProgress(const ProgressRecord& progress) {
  ByteWriter writer;
  writer.Number(kProgressFormat);
  writer.Text(progress.job);
  VisitTrajectory(writer, progress.trajectory, kFormat);
  return writer.Take();
}

absl::StatusOr<ProgressRecord> DecodeProgress(absl::string_view bytes) {
  ByteReader reader(bytes);
  uint32_t format = 0;
  reader.Number(format);
  if (format != kProgressFormat) return absl::DataLossError("the record is not progress of a known format");
  ProgressRecord progress;
  reader.Text(progress.job);
  VisitTrajectory(reader, progress.trajectory, kFormat);
  if (!reader.Done()) return absl::DataLossError("the record is not whole progress");
  return progress;
}

}  // namespace sluice
