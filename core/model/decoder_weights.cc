#include "core/model/decoder_weights.h"

#include <algorithm>
#include <new>
#include <utility>

#include "core/base/status.h"

namespace sluice {
namespace {

using kernels::PackedMatrix;

// Takes tensors out of a checkpoint by name, checked against the shape that the config asks for. A tensor
// leaves the checkpoint when it is taken, so that its memory is free once it is packed.
class Packer {
 public:
  Packer(const ModelConfig& config, TensorMap tensors, DType dtype)
      : config_(config), tensors_(std::move(tensors)), dtype_(dtype) {}

  absl::Status All(DecoderWeights* out);

 private:
  absl::StatusOr<HostTensor> Take(const std::string& name, std::vector<int64_t> shape) {
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
    const int64_t bytes = tensor.elements() * BytesOf(tensor.dtype);
    if (tensor.bytes == nullptr || static_cast<int64_t>(tensor.bytes->size()) != bytes) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", name, " does not hold ", bytes, " bytes"));
    }
    return tensor;
  }

  absl::Status Vector(const std::string& name, int64_t size, std::vector<float>* out) {
    SLUICE_ASSIGN_OR_RETURN(const HostTensor tensor, Take(name, {size}));
    *out = RoundedFloats(tensor, dtype_);
    return absl::OkStatus();
  }

  absl::Status Matrix(const std::string& name, int64_t rows, int64_t columns, PackedMatrix* packed) {
    SLUICE_ASSIGN_OR_RETURN(const HostTensor tensor, Take(name, {rows, columns}));
    *packed = Pack(tensor, rows, columns);
    return absl::OkStatus();
  }

  absl::Status Mlp(const std::string& prefix, int64_t intermediate, MlpWeights* mlp) {
    SLUICE_RETURN_IF_ERROR(Matrix(prefix + "gate_proj.weight", intermediate, config_.hidden, &mlp->gate));
    SLUICE_RETURN_IF_ERROR(Matrix(prefix + "up_proj.weight", intermediate, config_.hidden, &mlp->up));
    return Matrix(prefix + "down_proj.weight", config_.hidden, intermediate, &mlp->down);
  }

  absl::Status LatentAttention(int64_t layer, LayerWeights* out);
  absl::Status KvB(int64_t layer, LayerWeights* out);
  absl::Status GroupedAttention(int64_t layer, LayerWeights* out);
  absl::Status Moe(int64_t layer, MoeWeights* out);
  absl::Status Layer(int64_t layer, LayerWeights* out);

  // Without a copy when the checkpoint has the packing's type already.
  PackedMatrix Pack(const HostTensor& tensor, int64_t rows, int64_t columns) {
    if (tensor.dtype != dtype_) return Pack(ToFloats(tensor), rows, columns);
    return dtype_ == DType::kBF16 ? PackedMatrix::FromBF16(tensor.bf16(), rows, columns, &memory_)
                                  : PackedMatrix::FromF32(tensor.f32(), rows, columns, &memory_);
  }
  PackedMatrix Pack(const std::vector<float>& values, int64_t rows, int64_t columns) {
    if (dtype_ == DType::kF32) return PackedMatrix::FromF32(values.data(), rows, columns, &memory_);
    std::vector<uint16_t> rounded(values.size());
    std::transform(values.begin(), values.end(), rounded.begin(), Bf16FromFloat);
    return PackedMatrix::FromBF16(rounded.data(), rows, columns, &memory_);
  }

  const ModelConfig& config_;
  TensorMap tensors_;
  kernels::WeightMemory memory_;
  const DType dtype_;
};

absl::Status Packer::KvB(int64_t layer, LayerWeights* out) {
  const int64_t dn = config_.qk_nope_dim, dv = config_.v_dim, c = config_.kv_lora_rank;
  SLUICE_ASSIGN_OR_RETURN(const HostTensor tensor, Take(LayerTensor(layer, "self_attn.kv_b_proj.weight"),
                                                        {config_.heads * (dn + dv), c}));
  const std::vector<float> values = ToFloats(tensor);
  for (int64_t h = 0; h < config_.heads; ++h) {
    const float* key = values.data() + KeyRowOf(config_, h) * c;
    std::vector<float> turned(c * dn);
    for (int64_t d = 0; d < dn; ++d) {
      for (int64_t j = 0; j < c; ++j) turned[j * dn + d] = key[d * c + j];
    }
    out->w_uk.push_back(Pack(turned, c, dn));
    const float* value = values.data() + ValueRowOf(config_, h) * c;
    out->w_uv.push_back(Pack(std::vector<float>(value, value + dv * c), dv, c));
  }
  return absl::OkStatus();
}

std::string AttentionTensor(int64_t layer, const char* part) {
  return LayerTensor(layer, absl::StrCat("self_attn.", part));
}

absl::Status Packer::LatentAttention(int64_t layer, LayerWeights* out) {
  const auto name = [layer](const char* part) { return AttentionTensor(layer, part); };
  const int64_t q_width = config_.heads * (config_.qk_nope_dim + config_.qk_rope_dim);
  const int64_t width = config_.kv_lora_rank + config_.qk_rope_dim;
  if (config_.q_lora_rank == 0) {
    SLUICE_RETURN_IF_ERROR(Matrix(name("q_proj.weight"), q_width, config_.hidden, &out->q));
  } else {
    SLUICE_RETURN_IF_ERROR(Matrix(name("q_a_proj.weight"), config_.q_lora_rank, config_.hidden, &out->q_a));
    SLUICE_RETURN_IF_ERROR(Vector(name("q_a_layernorm.weight"), config_.q_lora_rank, &out->q_a_norm));
    SLUICE_RETURN_IF_ERROR(Matrix(name("q_b_proj.weight"), q_width, config_.q_lora_rank, &out->q_b));
  }
  SLUICE_RETURN_IF_ERROR(Matrix(name("kv_a_proj_with_mqa.weight"), width, config_.hidden, &out->kv_a));
  SLUICE_RETURN_IF_ERROR(Vector(name("kv_a_layernorm.weight"), config_.kv_lora_rank, &out->kv_a_norm));
  SLUICE_RETURN_IF_ERROR(KvB(layer, out));
  if (!config_.qkv_bias) return absl::OkStatus();
  if (config_.q_lora_rank != 0) {
    SLUICE_RETURN_IF_ERROR(Vector(name("q_a_proj.bias"), config_.q_lora_rank, &out->q_a_bias));
  }
  return Vector(name("kv_a_proj_with_mqa.bias"), width, &out->kv_a_bias);
}

absl::Status Packer::GroupedAttention(int64_t layer, LayerWeights* out) {
  const auto name = [layer](const char* part) { return AttentionTensor(layer, part); };
  const int64_t head = config_.qk_nope_dim + config_.qk_rope_dim;
  const int64_t q = config_.heads * head, k = config_.kv_heads * head, v = config_.kv_heads * config_.v_dim;
  SLUICE_RETURN_IF_ERROR(Matrix(name("q_proj.weight"), q, config_.hidden, &out->q));
  SLUICE_RETURN_IF_ERROR(Matrix(name("k_proj.weight"), k, config_.hidden, &out->k));
  SLUICE_RETURN_IF_ERROR(Matrix(name("v_proj.weight"), v, config_.hidden, &out->v));
  if (config_.qkv_bias) {
    SLUICE_RETURN_IF_ERROR(Vector(name("q_proj.bias"), q, &out->q_bias));
    SLUICE_RETURN_IF_ERROR(Vector(name("k_proj.bias"), k, &out->k_bias));
    SLUICE_RETURN_IF_ERROR(Vector(name("v_proj.bias"), v, &out->v_bias));
  }
  if (!config_.qk_norm) return absl::OkStatus();
  SLUICE_RETURN_IF_ERROR(Vector(name("q_norm.weight"), head, &out->q_norm));
  return Vector(name("k_norm.weight"), head, &out->k_norm);
}

absl::Status Packer::Moe(int64_t layer, MoeWeights* out) {
  const MoeConfig& moe = config_.moe;
  SLUICE_ASSIGN_OR_RETURN(const HostTensor router,
                          Take(LayerTensor(layer, "mlp.gate.weight"), {moe.experts, config_.hidden}));
  out->router =
      PackedMatrix::FromF32(RoundedFloats(router, dtype_).data(), moe.experts, config_.hidden, &memory_);
  if (moe.correction_bias) {
    SLUICE_ASSIGN_OR_RETURN(const HostTensor bias,
                            Take(LayerTensor(layer, "mlp.gate.e_score_correction_bias"), {moe.experts}));
    out->correction_bias = ToFloats(bias);  // never rounded
  }
  out->experts.resize(moe.experts);
  for (int32_t e = 0; e < moe.experts; ++e) {
    SLUICE_RETURN_IF_ERROR(Mlp(ExpertTensor(layer, e, ""), moe.intermediate, &out->experts[e]));
  }
  out->has_shared = moe.shared_experts > 0;
  if (!out->has_shared) return absl::OkStatus();
  return Mlp(LayerTensor(layer, "mlp.shared_experts."), moe.shared_experts * moe.intermediate, &out->shared);
}

absl::Status Packer::Layer(int64_t layer, LayerWeights* out) {
  SLUICE_RETURN_IF_ERROR(
      Vector(LayerTensor(layer, "input_layernorm.weight"), config_.hidden, &out->input_norm));
  SLUICE_RETURN_IF_ERROR(Vector(LayerTensor(layer, "post_attention_layernorm.weight"), config_.hidden,
                                &out->post_attention_norm));
  SLUICE_RETURN_IF_ERROR(config_.attention == AttentionKind::kLatent ? LatentAttention(layer, out)
                                                                     : GroupedAttention(layer, out));
  SLUICE_RETURN_IF_ERROR(Matrix(AttentionTensor(layer, "o_proj.weight"), config_.hidden,
                                config_.heads * config_.v_dim, &out->o));
  if (config_.o_bias) {
    SLUICE_RETURN_IF_ERROR(Vector(AttentionTensor(layer, "o_proj.bias"), config_.hidden, &out->o_bias));
  }
  out->is_moe = config_.moe_layer[layer];
  if (out->is_moe) return Moe(layer, &out->moe);
  return Mlp(LayerTensor(layer, "mlp."), config_.intermediate, &out->mlp);
}

absl::Status Packer::All(DecoderWeights* out) {
  if (static_cast<int64_t>(config_.moe_layer.size()) != config_.layers) {
    return absl::InvalidArgumentError("the model config says of too few layers whether they have experts");
  }
  out->layers.resize(config_.layers);
  for (int64_t l = 0; l < config_.layers; ++l) SLUICE_RETURN_IF_ERROR(Layer(l, &out->layers[l]));
  SLUICE_RETURN_IF_ERROR(Vector("model.norm.weight", config_.hidden, &out->final_norm));
  SLUICE_ASSIGN_OR_RETURN(const HostTensor embedding,
                          Take("model.embed_tokens.weight", {config_.vocab, config_.hidden}));
  if (config_.tied_embeddings) {
    out->head = Pack(embedding, config_.vocab, config_.hidden);
    return absl::OkStatus();
  }
  out->embedding = embedding.dtype == dtype_
                       ? embedding
                       : TensorFromFloats(embedding.shape, ToFloats(embedding).data(), dtype_);
  return Matrix("lm_head.weight", config_.vocab, config_.hidden, &out->head);
}

int64_t BytesOfMlp(const MlpWeights& mlp) { return mlp.gate.bytes() + mlp.up.bytes() + mlp.down.bytes(); }

}  // namespace

void DecoderWeights::Embed(int32_t token, float* x) const {
  if (config.tied_embeddings) return head.ReadOutput(token, x);
  const int64_t first = token * config.hidden;
  for (int64_t i = 0; i < config.hidden; ++i) {
    x[i] = dtype == DType::kBF16 ? FloatFromBf16(embedding.bf16()[first + i]) : embedding.f32()[first + i];
  }
}

kernels::AttentionShape AttentionShapeOf(const ModelConfig& config, DType dtype) {
  const bool latent = config.attention == AttentionKind::kLatent;
  kernels::AttentionShape shape;
  shape.heads = config.heads;
  shape.kv_heads = latent ? 1 : config.kv_heads;
  shape.key_dim = (latent ? config.kv_lora_rank : config.qk_nope_dim) + config.qk_rope_dim;
  shape.value_dim = latent ? config.kv_lora_rank : config.v_dim;
  shape.value_in_key = latent;
  shape.scale = static_cast<float>(config.SoftmaxScale());
  shape.bf16 = dtype == DType::kBF16;
  return shape;
}

kernels::RouterParams RouterParamsOf(const ModelConfig& config, const float* correction_bias) {
  const MoeConfig& moe = config.moe;
  kernels::RouterParams params;
  params.experts = moe.experts;
  params.k = moe.experts_per_token;
  if (moe.group_score != RouterGroupScore::kNone) {
    params.groups = moe.groups;
    params.groups_kept = moe.groups_kept;
  }
  params.sigmoid = moe.score == RouterScore::kSigmoid;
  params.group_top_two_sum = moe.group_score == RouterGroupScore::kTopTwoSum;
  params.correction_bias = correction_bias;
  params.normalize = moe.normalize_weights;
  params.scaling = static_cast<float>(moe.scaling);
  return params;
}

std::string LayerTensor(int64_t layer, const std::string& part) {
  return absl::StrCat("model.layers.", layer, ".", part);
}

std::string ExpertTensor(int64_t layer, int64_t expert, const std::string& part) {
  return absl::StrCat("model.layers.", layer, ".mlp.experts.", expert, ".", part);
}

std::vector<float> RoundedFloats(const HostTensor& tensor, DType dtype) {
  std::vector<float> values = ToFloats(tensor);
  if (dtype == DType::kBF16) {
    for (float& value : values) value = FloatFromBf16(Bf16FromFloat(value));
  }
  return values;
}

absl::StatusOr<std::shared_ptr<const DecoderWeights>> PackDecoderWeights(const ModelConfig& config,
                                                                         TensorMap tensors, DType dtype) {
  if (dtype != DType::kBF16 && dtype != DType::kF32) {
    return absl::InvalidArgumentError(
        absl::StrCat("weights can be packed as BF16 or F32, not ", SafetensorsName(dtype)));
  }
  auto weights = std::make_shared<DecoderWeights>();
  weights->config = config;
  weights->dtype = dtype;
  weights->inverse_frequencies = config.RopeInverseFrequencies();
  weights->rope_amplitude = config.RopeAmplitude();
  weights->attention = AttentionShapeOf(config, dtype);
  weights->norm_epsilon = static_cast<float>(config.norm_epsilon);
  weights->latent_norm_epsilon = static_cast<float>(config.latent_norm_epsilon);
  try {
    SLUICE_RETURN_IF_ERROR(Packer(weights->config, std::move(tensors), dtype).All(weights.get()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory for the packed weights of the model");
  }
  return std::shared_ptr<const DecoderWeights>(std::move(weights));
}

int64_t PackedBytes(const DecoderWeights& weights) {
  int64_t bytes =
      weights.head.bytes() + (weights.embedding.bytes == nullptr ? 0 : weights.embedding.bytes->size());
  for (const LayerWeights& layer : weights.layers) {
    for (const PackedMatrix* m :
         {&layer.q, &layer.k, &layer.v, &layer.q_a, &layer.q_b, &layer.kv_a, &layer.o, &layer.moe.router}) {
      bytes += m->bytes();
    }
    for (const PackedMatrix& m : layer.w_uk) bytes += m.bytes();
    for (const PackedMatrix& m : layer.w_uv) bytes += m.bytes();
    bytes += BytesOfMlp(layer.mlp) + BytesOfMlp(layer.moe.shared);
    for (const MlpWeights& expert : layer.moe.experts) bytes += BytesOfMlp(expert);
  }
  return bytes;
}

}  // namespace sluice
