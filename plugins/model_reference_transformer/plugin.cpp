// The model plugins reference_transformer and gpt: one implementation under two names.
#include <stc/exact/model.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "transformer.hpp"

namespace stc::reference_transformer {
namespace {

at::Device device_of(const Host& host) {
  const DeviceInfo info = host.device();
  const auto index = static_cast<at::DeviceIndex>(info.index);
  switch (info.type) {
    case STC_DEVICE_CPU: return at::kCPU;
    case STC_DEVICE_CUDA: return {at::kCUDA, index};
    case STC_DEVICE_MPS: return {at::kMPS, index};
    default: throw Fault(STC_ERROR_UNSUPPORTED, "reference_transformer runs on cpu, cuda and mps devices");
  }
}

class ReferenceTransformer {
 public:
  struct Params {
    int64_t vocab_size = 512;
    int64_t max_seq_len = 128;
    int64_t n_layer = 4;
    int64_t n_head = 8;
    std::optional<int64_t> n_kv_head;
    int64_t d_model = 256;
    std::optional<int64_t> d_ff;
    double dropout = 0.0;
    bool tie_weights = true;
    double rope_base = 10000.0;

    template <class V>
    static void describe(V& v) {
      v("vocab_size", &Params::vocab_size, "number of token ids", 1, 1 << 30)(
          "max_seq_len", &Params::max_seq_len, "longest sequence (block size)", 1, 1 << 24)(
          "n_layer", &Params::n_layer, "number of blocks", 1, 65536)("n_head", &Params::n_head, "query heads", 1,
                                                                     65536)(
          "n_kv_head", &Params::n_kv_head, "key and value heads, a divisor of n_head; null: n_head", 1, 65536)(
          "d_model", &Params::d_model, "width, a multiple of 2 * n_head", 1, 1 << 24)(
          "d_ff", &Params::d_ff, "two thirds of it are the width of the MLP; null: 4 * d_model", 2, 1 << 26)(
          "dropout", &Params::dropout, "probability of a drop in training", stc::half_open(0.0, 1.0))(
          "tie_weights", &Params::tie_weights, "the output matrix is the input embedding")(
          "rope_base", &Params::rope_base, "base of the rotary positions", stc::above(0.0));
    }

    Config config() const {
      Config out;
      out.vocab_size = vocab_size;
      out.block_size = max_seq_len;
      out.n_layer = n_layer;
      out.n_head = n_head;
      out.n_kv_head = n_kv_head.value_or(n_head);
      out.d_model = d_model;
      out.d_ff = d_ff.value_or(4 * d_model);
      out.dropout = dropout;
      out.tie_weights = tie_weights;
      out.rope_base = rope_base;
      return out;
    }
  };

  ReferenceTransformer(const Params& params, Host host) : model_(params.config(), options(host)) {}

  void init(uint64_t seed) { model_.init(seed); }

  std::vector<exact::Parameter> parameters() {
    std::vector<exact::Parameter> out;
    for (const Leaf& leaf : model_.parameters().leaves) {
      out.push_back({leaf.name, leaf.value, leaf.role, leaf.aliases, true});
    }
    return out;
  }

  at::Tensor gradient(size_t index) { return model_.gradient(index); }

  static bool own_kernels(int32_t device_type, int32_t dtype) {
    return device_type == STC_DEVICE_CPU && dtype == STC_DTYPE_BFLOAT16;
  }

  exact::Outputs forward(const exact::Pass& pass, const exact::Inputs& inputs) {
    const ForwardPass request{pass.training, pass.accumulate, pass.dropout_key};
    ForwardOutput output =
        model_.forward(request, ids_of(inputs), optional(inputs, "labels"), optional(inputs, "attention_mask"));
    exact::Outputs out;
    if (output.loss.defined()) out.put("loss", std::move(output.loss));
    if (output.logits.defined()) out.put("logits", std::move(output.logits));
    return out;
  }

  at::Tensor loss_and_grad(const exact::Pass& pass, const exact::Inputs& inputs, exact::Outputs&,
                           const exact::GradientReady& ready) {
    const ForwardPass request{pass.training, pass.accumulate, pass.dropout_key};
    at::Tensor loss = model_.loss_and_grad(request, pass.weight, ids_of(inputs), optional(inputs, "labels"),
                                           optional(inputs, "attention_mask"));
    for (uint32_t i = 0; ready.wanted() && i < model_.parameters().leaves.size(); ++i) ready(i);
    return loss;
  }

  void parameters_changed() { model_.parameters_changed(); }
  void set_gradient_checkpointing(bool enabled) { model_.set_gradient_checkpointing(enabled); }
  std::vector<std::pair<std::string, int64_t>> dimensions() { return model_.dimensions(); }
  std::vector<std::string> stages() { return model_.stages(); }

  std::unique_ptr<Cache> generate_begin(int64_t rows, int64_t max_length) {
    return std::make_unique<Cache>(model_.generate_begin(rows, max_length));
  }
  at::Tensor generate_step(Cache& cache, const at::Tensor& ids) { return model_.generate_step(cache, ids); }

 private:
  static at::Tensor optional(const exact::Inputs& inputs, const char* name) {
    const at::Tensor* found = inputs.find(name);
    return found != nullptr ? *found : at::Tensor();
  }
  static const at::Tensor& ids_of(const exact::Inputs& inputs) {
    const at::Tensor* ids = inputs.find("input_ids");
    if (ids == nullptr) ids = inputs.find("inputs");
    if (ids == nullptr) throw Fault(STC_ERROR_INVALID_ARGUMENT, "the batch has no input_ids");
    return *ids;
  }
  static Transformer::Options options(const Host& host) {
    Transformer::Options out;
    out.device = device_of(host);
    out.parallel = {host.ctx(), host.raw().parallel_for};
    out.stage = [host](const std::string& stage, bool begin) {
      (begin ? host.raw().stage_begin : host.raw().stage_end)(host.ctx(), stage.c_str());
    };
    return out;
  }

  Transformer model_;
};

struct Gpt : ReferenceTransformer {
  using ReferenceTransformer::ReferenceTransformer;
};

}  // namespace
}  // namespace stc::reference_transformer

using stc::reference_transformer::Gpt;
using stc::reference_transformer::ReferenceTransformer;

STC_DEFINE_EXACT_MODEL(ReferenceTransformer, "reference_transformer", "1.0.0",
                       "decoder-only transformer: RMSNorm, rotary positions, grouped heads, SwiGLU");
STC_DEFINE_EXACT_MODEL(Gpt, "gpt", "1.0.0", "another name of reference_transformer");
STC_PLUGIN_LIBRARY(exact, ReferenceTransformer, Gpt);
