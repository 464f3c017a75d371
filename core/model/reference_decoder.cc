#include "core/model/reference_decoder.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/kernels/reference/reference.h"
#include "core/model/decoder_weights.h"

namespace sluice {
namespace {

namespace plain = kernels::reference;

at::ScalarType TorchType(DType dtype) {
  switch (dtype) {
    case DType::kBF16:
      return at::kBFloat16;
    case DType::kF16:
      return at::kHalf;
    case DType::kF64:
      return at::kDouble;
    default:
      return at::kFloat;
  }
}

// Norms' statistics, rotations, softmax and routing need float32 at least.
at::ScalarType StatisticsType(at::ScalarType dtype) {
  return dtype == at::kDouble ? at::kDouble : at::kFloat;
}

// `grown` and what is new of it, one after another along the tokens.
at::Tensor Extend(at::Tensor* grown, const at::Tensor& more) {
  *grown = grown->defined() ? at::cat({*grown, more}) : more;
  return *grown;
}

}  // namespace

struct ReferenceDecoder::Call {
  int64_t past = 0;
  plain::Rotation rotation;  // of the new tokens
  ReferenceCache* cache = nullptr;
  std::vector<ReferenceRouting>* routing = nullptr;
};

absl::StatusOr<std::unique_ptr<ReferenceDecoder>> ReferenceDecoder::Create(const ModelConfig& config,
                                                                           const TensorMap& tensors,
                                                                           at::Device device,
                                                                           at::ScalarType dtype) {
  std::unique_ptr<ReferenceDecoder> decoder(new ReferenceDecoder(config, device, dtype));
  for (const TensorShape& wanted : TensorTable(config)) {
    const auto found = tensors.find(wanted.name);
    if (found == tensors.end() || found->second.shape != wanted.shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", wanted.name, " is missing or has another shape than config.json says"));
    }
    const HostTensor& tensor = found->second;
    try {
      const at::ScalarType type = wanted.always_f32 ? StatisticsType(dtype) : dtype;
      decoder->parameters_[wanted.name] =
          torch::from_blob(const_cast<char*>(tensor.bytes->data()), tensor.shape, TorchType(tensor.dtype))
              .to(device, type, /*non_blocking=*/false, /*copy=*/true);
    } catch (const c10::Error& error) {
      return absl::InternalError(absl::StrCat("tensor ", wanted.name, ": ", error.what_without_backtrace()));
    }
  }
  return decoder;
}

at::Tensor ReferenceDecoder::Parameter(const std::string& name) const {
  const auto found = parameters_.find(name);
  return found == parameters_.end() ? at::Tensor() : found->second;
}

at::Tensor ReferenceDecoder::Linear(const at::Tensor& x, const std::string& name) const {
  return plain::Linear(x, parameters_.at(name + ".weight"), Parameter(name + ".bias"));
}

at::Tensor ReferenceDecoder::Norm(const at::Tensor& x, const std::string& name, double epsilon) const {
  const at::ScalarType type = StatisticsType(dtype_);
  return plain::RmsNorm(x.to(type), parameters_.at(name + ".weight").to(type), epsilon).to(dtype_);
}

at::Tensor ReferenceDecoder::Mlp(const at::Tensor& h, const std::string& name) const {
  return Linear(plain::SwiGlu(Linear(h, name + "gate_proj"), Linear(h, name + "up_proj")),
                name + "down_proj");
}

// The last dr of x [tokens, heads, .] by position.
at::Tensor ReferenceDecoder::Rotated(const at::Tensor& x, const Call& call) const {
  const int64_t dr = config_.qk_rope_dim, dn = x.size(-1) - dr;
  const at::Tensor turned = plain::ApplyRope(x.narrow(-1, dn, dr).to(call.rotation.cos.scalar_type()),
                                             call.rotation, config_.rope_interleaved);
  return at::cat({x.narrow(-1, 0, dn), turned.to(dtype_)}, -1);
}

at::Tensor ReferenceDecoder::Queries(const at::Tensor& h, const std::string& name, const Call& call) const {
  at::Tensor q =
      config_.q_lora_rank == 0
          ? Linear(h, name + "q_proj")
          : Linear(Norm(Linear(h, name + "q_a_proj"), name + "q_a_layernorm", config_.latent_norm_epsilon),
                   name + "q_b_proj");
  q = q.view({h.size(0), config_.heads, -1});
  if (config_.qk_norm) q = Norm(q, name + "q_norm", config_.norm_epsilon);
  return Rotated(q, call);
}

ReferenceDecoder::KeysAndValues ReferenceDecoder::LatentKeys(const at::Tensor& h, int64_t layer,
                                                             Call* call) const {
  const int64_t c = config_.kv_lora_rank, dn = config_.qk_nope_dim, dr = config_.qk_rope_dim;
  const std::string name = LayerTensor(layer, "self_attn.");
  const at::Tensor kv = Linear(h, name + "kv_a_proj_with_mqa");
  const at::Tensor latents =
      Extend(&call->cache->latents[layer],
             Norm(kv.narrow(-1, 0, c), name + "kv_a_layernorm", config_.latent_norm_epsilon));
  const at::Tensor shared =
      Extend(&call->cache->keys[layer], Rotated(kv.narrow(-1, c, dr).unsqueeze(1), *call).squeeze(1));
  const int64_t total = latents.size(0);
  const at::Tensor expanded = Linear(latents, name + "kv_b_proj").view({total, config_.heads, -1});
  return {at::cat({expanded.narrow(-1, 0, dn), shared.unsqueeze(1).expand({total, config_.heads, dr})}, -1),
          expanded.narrow(-1, dn, config_.v_dim)};
}

ReferenceDecoder::KeysAndValues ReferenceDecoder::GroupedKeys(const at::Tensor& h, int64_t layer,
                                                              Call* call) const {
  const std::string name = LayerTensor(layer, "self_attn.");
  at::Tensor k = Linear(h, name + "k_proj").view({h.size(0), config_.kv_heads, -1});
  if (config_.qk_norm) k = Norm(k, name + "k_norm", config_.norm_epsilon);
  const at::Tensor v = Linear(h, name + "v_proj").view({h.size(0), config_.kv_heads, -1});
  return {Extend(&call->cache->keys[layer], Rotated(k, *call)), Extend(&call->cache->values[layer], v)};
}

at::Tensor ReferenceDecoder::Attend(const at::Tensor& h, int64_t layer, Call* call) const {
  const int64_t n = h.size(0);
  const std::string name = LayerTensor(layer, "self_attn.");
  const at::Tensor q = Queries(h, name, *call);
  KeysAndValues kv =
      config_.attention == AttentionKind::kLatent ? LatentKeys(h, layer, call) : GroupedKeys(h, layer, call);
  const int64_t total = kv.keys.size(0), each = config_.heads / kv.keys.size(1);
  const at::Tensor keys = kv.keys.repeat_interleave(each, 1);  // a head's own, [tokens, heads, .]
  const at::Tensor values = kv.values.repeat_interleave(each, 1);
  const at::Tensor scores =
      at::einsum("nhd,thd->hnt", {q, keys}).to(StatisticsType(dtype_)) * config_.SoftmaxScale();
  const at::Tensor positions = at::arange(total, at::TensorOptions(device_).dtype(at::kLong));
  const at::Tensor future = positions.unsqueeze(0) > positions.narrow(0, call->past, n).unsqueeze(1);
  const at::Tensor p =
      scores.masked_fill(future, -std::numeric_limits<double>::infinity()).softmax(-1).to(dtype_);
  const at::Tensor heads = at::einsum("hnt,thd->nhd", {p, values});
  return Linear(heads.reshape({n, config_.heads * config_.v_dim}), name + "o_proj");
}

at::Tensor ReferenceDecoder::FeedForward(const at::Tensor& h, int64_t layer, Call* call) const {
  const std::string name = LayerTensor(layer, "mlp.");
  if (!config_.moe_layer[layer]) return Mlp(h, name);
  const at::ScalarType type = StatisticsType(dtype_);
  const at::Tensor logits = plain::Linear(h.to(type), parameters_.at(name + "gate.weight").to(type));
  const plain::Routing routing = plain::Route(logits, RouterParamsOf(config_, nullptr),
                                              Parameter(name + "gate.e_score_correction_bias"));
  if (call->routing != nullptr) call->routing->push_back({layer, routing.ids, routing.weights});
  at::Tensor y = config_.moe.shared_experts > 0 ? Mlp(h, name + "shared_experts.") : at::zeros_like(h);
  for (int32_t e = 0; e < config_.moe.experts; ++e) {
    const std::vector<at::Tensor> chosen = at::where(routing.ids == e);  // rows, slots
    if (chosen[0].numel() == 0) continue;
    const at::Tensor weight = routing.weights.index({chosen[0], chosen[1]}).unsqueeze(1).to(dtype_);
    y = y.index_add(0, chosen[0], Mlp(h.index({chosen[0]}), ExpertTensor(layer, e, "")) * weight);
  }
  return y;
}

at::Tensor ReferenceDecoder::Run(absl::Span<const int32_t> tokens, Call* call) const {
  const at::TensorOptions integers = at::TensorOptions().dtype(at::kLong);
  const std::vector<int64_t> ids(tokens.begin(), tokens.end());
  const std::vector<float> frequencies = config_.RopeInverseFrequencies();
  const at::Tensor positions =
      at::arange(call->past, call->past + static_cast<int64_t>(ids.size()), integers);
  call->rotation =
      plain::RopeCosSin(positions.to(device_), torch::tensor(frequencies).to(device_, StatisticsType(dtype_)),
                        config_.RopeAmplitude());
  at::Tensor x =
      at::embedding(parameters_.at("model.embed_tokens.weight"), torch::tensor(ids, integers).to(device_));
  for (int64_t l = 0; l < config_.layers; ++l) {
    x = x + Attend(Norm(x, LayerTensor(l, "input_layernorm"), config_.norm_epsilon), l, call);
    x = x + FeedForward(Norm(x, LayerTensor(l, "post_attention_layernorm"), config_.norm_epsilon), l, call);
  }
  x = Norm(x, "model.norm", config_.norm_epsilon);
  return Linear(x, config_.tied_embeddings ? "model.embed_tokens" : "lm_head");
}

absl::StatusOr<at::Tensor> ReferenceDecoder::Logits(absl::Span<const int32_t> tokens, ReferenceCache* cache,
                                                    std::vector<ReferenceRouting>* routing) const {
  for (const int32_t token : tokens) {
    if (token < 0 || token >= config_.vocab) {
      return absl::InvalidArgumentError(
          absl::StrCat("token ", token, " is outside the vocabulary of ", config_.vocab));
    }
  }
  if (tokens.empty()) return absl::InvalidArgumentError("no tokens were given");
  ReferenceCache fresh;
  Call call;
  call.cache = cache == nullptr ? &fresh : cache;
  call.routing = routing;
  call.past = call.cache->tokens();
  for (auto* part : {&call.cache->latents, &call.cache->keys, &call.cache->values})
    part->resize(config_.layers);
  try {
    return Run(tokens, &call);
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat("the plain decoder failed: ", error.what_without_backtrace()));
  }
}

}  // namespace sluice
