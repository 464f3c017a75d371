#include "core/model/torch_decoder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status.h"
#include "core/model/decoder_weights.h"

namespace sluice {
namespace {

namespace plain = kernels::reference;
using kernels::kBlockTokens;

// ---- Weights ----

class Uploader {
 public:
  Uploader(TensorMap tensors, DType dtype, at::Device device)
      : tensors_(std::move(tensors)), dtype_(dtype), device_(device) {}

  // The values that the packed decoder multiplies by. They reach the device as float32.
  absl::Status Vector(const std::string& name, std::vector<int64_t> shape, at::Tensor* out,
                      bool rounded = true) {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
      return absl::InvalidArgumentError(absl::StrCat("the checkpoint lacks tensor ", name));
    }
    const HostTensor tensor = std::move(found->second);
    tensors_.erase(found);
    if (tensor.shape != shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", name, " has another shape than config.json says"));
    }
    if (tensor.dtype != DType::kF32 && tensor.dtype != DType::kBF16 && tensor.dtype != DType::kF16) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", name, " is ", SafetensorsName(tensor.dtype), "; want F32, BF16 or F16"));
    }
    if (tensor.bytes == nullptr ||
        static_cast<int64_t>(tensor.bytes->size()) != tensor.elements() * BytesOf(tensor.dtype)) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", name, " has a wrong number of bytes"));
    }
    std::vector<float> values = rounded ? RoundedFloats(tensor, dtype_) : ToFloats(tensor);
    *out = at::from_blob(values.data(), shape, at::kFloat).to(device_, /*non_blocking=*/false, /*copy=*/true);
    return absl::OkStatus();
  }
  // Kept in the packing's type, which holds its values exactly.
  absl::Status Matrix(const std::string& name, int64_t rows, int64_t columns, at::Tensor* out) {
    SLUICE_RETURN_IF_ERROR(Vector(name, {rows, columns}, out));
    if (dtype_ == DType::kBF16) *out = out->to(at::kBFloat16);
    return absl::OkStatus();
  }
  absl::Status Mlp(const std::string& name, int64_t hidden, int64_t width, TorchMlp* out) {
    SLUICE_RETURN_IF_ERROR(Matrix(name + "gate_proj.weight", width, hidden, &out->gate));
    SLUICE_RETURN_IF_ERROR(Matrix(name + "up_proj.weight", width, hidden, &out->up));
    return Matrix(name + "down_proj.weight", hidden, width, &out->down);
  }
  absl::Status Attention(const ModelConfig& c, int64_t layer, TorchLayer* out);
  absl::Status FeedForward(const ModelConfig& c, int64_t layer, TorchLayer* out);

 private:
  absl::Status Latent(const ModelConfig& c, const std::string& name, TorchLayer* out);
  absl::Status Grouped(const ModelConfig& c, const std::string& name, TorchLayer* out);

  TensorMap tensors_;
  const DType dtype_;
  const at::Device device_;
};

absl::Status Uploader::Attention(const ModelConfig& c, int64_t layer, TorchLayer* out) {
  const std::string name = LayerTensor(layer, "self_attn.");
  SLUICE_RETURN_IF_ERROR(c.attention == AttentionKind::kLatent ? Latent(c, name, out)
                                                               : Grouped(c, name, out));
  SLUICE_RETURN_IF_ERROR(Matrix(name + "o_proj.weight", c.hidden, c.heads * c.v_dim, &out->o));
  return c.o_bias ? Vector(name + "o_proj.bias", {c.hidden}, &out->o_bias) : absl::OkStatus();
}

absl::Status Uploader::Grouped(const ModelConfig& c, const std::string& name, TorchLayer* out) {
  const int64_t head = c.qk_nope_dim + c.qk_rope_dim;
  const int64_t q = c.heads * head, k = c.kv_heads * head, v = c.kv_heads * c.v_dim;
  SLUICE_RETURN_IF_ERROR(Matrix(name + "q_proj.weight", q, c.hidden, &out->q));
  SLUICE_RETURN_IF_ERROR(Matrix(name + "k_proj.weight", k, c.hidden, &out->k));
  SLUICE_RETURN_IF_ERROR(Matrix(name + "v_proj.weight", v, c.hidden, &out->v));
  if (c.qkv_bias) {
    SLUICE_RETURN_IF_ERROR(Vector(name + "q_proj.bias", {q}, &out->q_bias));
    SLUICE_RETURN_IF_ERROR(Vector(name + "k_proj.bias", {k}, &out->k_bias));
    SLUICE_RETURN_IF_ERROR(Vector(name + "v_proj.bias", {v}, &out->v_bias));
  }
  if (!c.qk_norm) return absl::OkStatus();
  SLUICE_RETURN_IF_ERROR(Vector(name + "q_norm.weight", {head}, &out->q_norm));
  return Vector(name + "k_norm.weight", {head}, &out->k_norm);
}

absl::Status Uploader::Latent(const ModelConfig& c, const std::string& name, TorchLayer* out) {
  const int64_t q_width = c.heads * (c.qk_nope_dim + c.qk_rope_dim), width = c.kv_lora_rank + c.qk_rope_dim;
  if (c.q_lora_rank == 0) {
    SLUICE_RETURN_IF_ERROR(Matrix(name + "q_proj.weight", q_width, c.hidden, &out->q));
  } else {
    SLUICE_RETURN_IF_ERROR(Matrix(name + "q_a_proj.weight", c.q_lora_rank, c.hidden, &out->q_a));
    SLUICE_RETURN_IF_ERROR(Vector(name + "q_a_layernorm.weight", {c.q_lora_rank}, &out->q_a_norm));
    SLUICE_RETURN_IF_ERROR(Matrix(name + "q_b_proj.weight", q_width, c.q_lora_rank, &out->q_b));
  }
  SLUICE_RETURN_IF_ERROR(Matrix(name + "kv_a_proj_with_mqa.weight", width, c.hidden, &out->kv_a));
  SLUICE_RETURN_IF_ERROR(Vector(name + "kv_a_layernorm.weight", {c.kv_lora_rank}, &out->kv_a_norm));
  at::Tensor kv_b;
  SLUICE_RETURN_IF_ERROR(
      Matrix(name + "kv_b_proj.weight", c.heads * (c.qk_nope_dim + c.v_dim), c.kv_lora_rank, &kv_b));
  kv_b = kv_b.view({c.heads, c.qk_nope_dim + c.v_dim, c.kv_lora_rank});
  out->w_uk = kv_b.narrow(1, 0, c.qk_nope_dim).contiguous();
  out->w_uv = kv_b.narrow(1, c.qk_nope_dim, c.v_dim).contiguous();
  if (!c.qkv_bias) return absl::OkStatus();
  if (c.q_lora_rank != 0) {
    SLUICE_RETURN_IF_ERROR(Vector(name + "q_a_proj.bias", {c.q_lora_rank}, &out->q_a_bias));
  }
  return Vector(name + "kv_a_proj_with_mqa.bias", {width}, &out->kv_a_bias);
}

absl::Status Uploader::FeedForward(const ModelConfig& c, int64_t layer, TorchLayer* out) {
  if (!c.moe_layer[static_cast<size_t>(layer)]) {
    return Mlp(LayerTensor(layer, "mlp."), c.hidden, c.intermediate, &out->mlp);
  }
  const MoeConfig& moe = c.moe;
  SLUICE_RETURN_IF_ERROR(
      Vector(LayerTensor(layer, "mlp.gate.weight"), {moe.experts, c.hidden}, &out->router));
  if (moe.correction_bias) {
    SLUICE_RETURN_IF_ERROR(Vector(LayerTensor(layer, "mlp.gate.e_score_correction_bias"), {moe.experts},
                                  &out->correction_bias, /*rounded=*/false));
  }
  out->experts.resize(static_cast<size_t>(moe.experts));
  for (int32_t e = 0; e < moe.experts; ++e) {
    SLUICE_RETURN_IF_ERROR(Mlp(ExpertTensor(layer, e, ""), c.hidden, moe.intermediate, &out->experts[e]));
  }
  if (moe.shared_experts == 0) return absl::OkStatus();
  return Mlp(LayerTensor(layer, "mlp.shared_experts."), c.hidden, moe.shared_experts * moe.intermediate,
             &out->mlp);
}

// ---- Forward ----

at::Tensor Linear(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias = {}) {
  return plain::Linear(x, w.to(at::kFloat), bias);
}

at::Tensor Mlp(const TorchMlp& mlp, const at::Tensor& h) {
  return Linear(plain::SwiGlu(Linear(h, mlp.gate), Linear(h, mlp.up)), mlp.down);
}

// Neighbouring rows of one sequence: they read the same cache.
struct RowRun {
  int64_t first = 0, rows = 0, length = 0;  // length: positions that the longest reads
};

std::vector<RowRun> RunsOf(absl::Span<const DecoderRow> rows) {
  std::vector<RowRun> out;
  for (size_t r = 0; r < rows.size(); ++r) {
    if (r == 0 || rows[r].caches != rows[r - 1].caches) out.push_back({static_cast<int64_t>(r), 0, 0});
    ++out.back().rows;
    out.back().length = std::max<int64_t>(out.back().length, rows[r].position + 1);
  }
  return out;
}

class Pass {
 public:
  Pass(const TorchModel& model, absl::Span<const DecoderRow> rows)
      : model_(model), c_(model.config), rows_(rows), runs_(RunsOf(rows)) {}

  at::Tensor Run();

 private:
  int64_t rows() const { return static_cast<int64_t>(rows_.size()); }
  at::Tensor OnDevice(const std::vector<int64_t>& values) const {
    return torch::tensor(values, at::kLong).to(model_.device);
  }
  // `positions` rows of a cache block, wherever the block lives.
  at::Tensor BlockView(std::byte* block, int64_t first, int64_t positions) const {
    const int64_t width = TorchCacheWidth(c_);
    return at::for_blob(reinterpret_cast<float*>(block) + first * width, {positions, width})
        .options(at::TensorOptions().dtype(at::kFloat).device(model_.device))
        .target_device(model_.device)
        .make_tensor();
  }
  at::Tensor Queries(const TorchLayer& layer, const at::Tensor& h) const;
  at::Tensor Entries(const TorchLayer& layer, const at::Tensor& h) const;
  void ExtendCaches(int64_t index, const at::Tensor& entries) const;
  at::Tensor Rotated(const at::Tensor& x) const {
    return plain::ApplyRope(x, rotation_, c_.rope_interleaved);
  }
  at::Tensor Attend(const TorchLayer& layer, int64_t index, const at::Tensor& q) const;
  at::Tensor FeedForward(const TorchLayer& layer, int64_t moe_layer, const at::Tensor& h) const;

  const TorchModel& model_;
  const ModelConfig& c_;
  const absl::Span<const DecoderRow> rows_;
  const std::vector<RowRun> runs_;
  at::Tensor lengths_;  // [rows]
  plain::Rotation rotation_;
};

// A head's norm, where there is one, and its rotation. x [rows, heads dim].
at::Tensor NormedHeads(const at::Tensor& x, int64_t heads, const at::Tensor& norm, double epsilon) {
  const at::Tensor by_head = x.view({x.size(0), heads, -1});
  return norm.defined() ? plain::RmsNorm(by_head, norm, epsilon) : by_head;
}

// 2, 3 and 6: what attends, [rows, H, key_dim]. Latent: [q_nope absorbed ; q_pe].
at::Tensor Pass::Queries(const TorchLayer& layer, const at::Tensor& h) const {
  const int64_t dn = c_.qk_nope_dim, dr = c_.qk_rope_dim;
  at::Tensor q;
  if (c_.q_lora_rank == 0) {
    q = Linear(h, layer.q, layer.q_bias);
  } else {
    q = Linear(plain::RmsNorm(Linear(h, layer.q_a, layer.q_a_bias), layer.q_a_norm, c_.latent_norm_epsilon),
               layer.q_b);
  }
  q = NormedHeads(q, c_.heads, layer.q_norm, c_.norm_epsilon);
  at::Tensor still = q.narrow(-1, 0, dn);
  if (layer.w_uk.defined()) still = at::einsum("rhd,hdc->rhc", {still, layer.w_uk.to(at::kFloat)});
  return at::cat({still, Rotated(q.narrow(-1, dn, dr))}, -1);
}

// 4 and 5: what is cached, [rows, TorchCacheWidth].
at::Tensor Pass::Entries(const TorchLayer& layer, const at::Tensor& h) const {
  const int64_t rank = c_.kv_lora_rank, dn = c_.qk_nope_dim, dr = c_.qk_rope_dim;
  if (c_.attention == AttentionKind::kLatent) {
    const at::Tensor kv = Linear(h, layer.kv_a, layer.kv_a_bias);
    return at::cat({plain::RmsNorm(kv.narrow(-1, 0, rank), layer.kv_a_norm, c_.latent_norm_epsilon),
                    Rotated(kv.narrow(-1, rank, dr))},
                   -1);
  }
  at::Tensor k = NormedHeads(Linear(h, layer.k, layer.k_bias), c_.kv_heads, layer.k_norm, c_.norm_epsilon);
  k = at::cat({k.narrow(-1, 0, dn), Rotated(k.narrow(-1, dn, dr))}, -1);
  return at::cat({k.flatten(1), Linear(h, layer.v, layer.v_bias)}, -1);
}

void Pass::ExtendCaches(int64_t index, const at::Tensor& entries) const {
  for (int64_t r = 0; r < rows();) {
    // As many rows as stand one after another in one block.
    const DecoderRow& row = rows_[r];
    const int64_t block = row.position / kBlockTokens, place = row.position % kBlockTokens;
    int64_t n = 1;
    while (r + n < rows() && place + n < kBlockTokens && rows_[r + n].caches == row.caches &&
           rows_[r + n].position == row.position + n) {
      ++n;
    }
    BlockView(row.caches[index][block], place, n).copy_(entries.narrow(0, r, n));
    r += n;
  }
}

// 7 and 8 without the sum.
at::Tensor Pass::Attend(const TorchLayer& layer, int64_t index, const at::Tensor& q) const {
  const bool latent = c_.attention == AttentionKind::kLatent;
  const int64_t kv_heads = latent ? 1 : c_.kv_heads, key = q.size(-1);
  const int64_t value = latent ? c_.kv_lora_rank : c_.v_dim;
  std::vector<at::Tensor> attended;
  for (const RowRun& run : runs_) {
    std::vector<at::Tensor> blocks;
    for (int64_t first = 0; first < run.length; first += kBlockTokens) {
      blocks.push_back(BlockView(rows_[run.first].caches[index][first / kBlockTokens], 0,
                                 std::min(kBlockTokens, run.length - first)));
    }
    const at::Tensor cache = at::cat(blocks);  // [tokens, width]
    const at::Tensor keys = cache.narrow(1, 0, kv_heads * key).view({-1, kv_heads, key});
    const at::Tensor values =
        latent ? keys.narrow(-1, 0, value)
               : cache.narrow(1, kv_heads * key, kv_heads * value).view({-1, kv_heads, value});
    attended.push_back(plain::Attention(q.narrow(0, run.first, run.rows), keys, values,
                                        lengths_.narrow(0, run.first, run.rows), c_.SoftmaxScale())
                           .out);
  }
  at::Tensor heads = at::cat(attended);
  if (latent) heads = at::einsum("rhc,hdc->rhd", {heads, layer.w_uv.to(at::kFloat)});
  return Linear(heads.reshape({rows(), c_.heads * c_.v_dim}), layer.o, layer.o_bias);
}

// 10 or 11 without the sum.
at::Tensor Pass::FeedForward(const TorchLayer& layer, int64_t moe_layer, const at::Tensor& h) const {
  if (layer.experts.empty()) return Mlp(layer.mlp, h);
  const plain::Routing routing =
      plain::Route(Linear(h, layer.router), RouterParamsOf(c_, nullptr), layer.correction_bias);
  at::Tensor y = layer.mlp.gate.defined() ? Mlp(layer.mlp, h) : at::zeros_like(h);
  // One transfer for the layer, then each expert's rows as indices.
  const at::Tensor chosen = routing.ids.to(at::kCPU).contiguous();  // [rows, k]
  const int64_t k = chosen.size(1);
  std::vector<std::vector<int64_t>> slots(layer.experts.size());
  for (int64_t i = 0; i < chosen.numel(); ++i) {
    const int64_t expert = chosen.const_data_ptr<int64_t>()[i];
    slots[static_cast<size_t>(expert)].push_back(i);
    uint16_t* const record = rows_[static_cast<size_t>(i / k)].experts;
    if (record != nullptr) record[moe_layer * k + i % k] = static_cast<uint16_t>(expert);
  }
  const at::Tensor weights = routing.weights.reshape({-1, 1});
  for (size_t e = 0; e < slots.size(); ++e) {
    if (slots[e].empty()) continue;
    const at::Tensor slot = OnDevice(slots[e]);
    const at::Tensor row = slot.floor_divide(k);
    y.index_add_(0, row, Mlp(layer.experts[e], h.index_select(0, row)) * weights.index_select(0, slot));
  }
  return y;
}

at::Tensor Pass::Run() {
  std::vector<int64_t> tokens, positions, lengths;
  for (const DecoderRow& row : rows_) {
    tokens.push_back(row.token);
    positions.push_back(row.position);
    lengths.push_back(row.position + 1);
  }
  lengths_ = OnDevice(lengths);
  rotation_ = plain::RopeCosSin(OnDevice(positions), model_.inverse_frequencies, c_.RopeAmplitude());
  at::Tensor x = model_.embedding.index_select(0, OnDevice(tokens)).to(at::kFloat);
  int64_t moe_layer = 0;
  for (int64_t l = 0; l < c_.layers; ++l) {
    const TorchLayer& layer = model_.layers[static_cast<size_t>(l)];
    at::Tensor h = plain::RmsNorm(x, layer.input_norm, c_.norm_epsilon);
    ExtendCaches(l, Entries(layer, h));
    x = x + Attend(layer, l, Queries(layer, h));
    h = plain::RmsNorm(x, layer.post_attention_norm, c_.norm_epsilon);
    x = x + FeedForward(layer, moe_layer, h);
    if (!layer.experts.empty()) ++moe_layer;
  }
  return plain::RmsNorm(x, model_.final_norm, c_.norm_epsilon);
}

}  // namespace

int64_t TorchCacheWidth(const ModelConfig& config) {
  if (config.attention == AttentionKind::kLatent) return config.kv_lora_rank + config.qk_rope_dim;
  return config.kv_heads * (config.qk_nope_dim + config.qk_rope_dim + config.v_dim);
}

absl::StatusOr<TorchModel> UploadModel(const ModelConfig& config, TensorMap tensors, DType dtype,
                                       at::Device device) {
  if (dtype != DType::kBF16 && dtype != DType::kF32) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights can be packed as BF16 or F32, not ", SafetensorsName(dtype)));
  }
  if (static_cast<int64_t>(config.moe_layer.size()) != config.layers) {
    return absl::InvalidArgumentError("the model config says of too few layers whether they have experts");
  }
  Uploader uploader(std::move(tensors), dtype, device);
  TorchModel out;
  out.config = config;
  out.device = device;
  SLUICE_RETURN_IF_ERROR(
      uploader.Matrix("model.embed_tokens.weight", config.vocab, config.hidden, &out.embedding));
  out.layers.resize(static_cast<size_t>(config.layers));
  for (int64_t l = 0; l < config.layers; ++l) {
    TorchLayer& layer = out.layers[static_cast<size_t>(l)];
    SLUICE_RETURN_IF_ERROR(
        uploader.Vector(LayerTensor(l, "input_layernorm.weight"), {config.hidden}, &layer.input_norm));
    SLUICE_RETURN_IF_ERROR(uploader.Vector(LayerTensor(l, "post_attention_layernorm.weight"), {config.hidden},
                                           &layer.post_attention_norm));
    SLUICE_RETURN_IF_ERROR(uploader.Attention(config, l, &layer));
    SLUICE_RETURN_IF_ERROR(uploader.FeedForward(config, l, &layer));
  }
  SLUICE_RETURN_IF_ERROR(uploader.Vector("model.norm.weight", {config.hidden}, &out.final_norm));
  out.inverse_frequencies = torch::tensor(config.RopeInverseFrequencies()).to(device);
  out.head = out.embedding;
  if (config.tied_embeddings) return out;
  SLUICE_RETURN_IF_ERROR(uploader.Matrix("lm_head.weight", config.vocab, config.hidden, &out.head));
  return out;
}

at::Tensor TorchForward(const TorchModel& model, absl::Span<const DecoderRow> rows) {
  return Pass(model, rows).Run();
}

at::Tensor TorchLogits(const TorchModel& model, const at::Tensor& hidden) {
  return Linear(hidden, model.head);
}

}  // namespace sluice
