#include "transformer.hpp"

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <tuple>

#include "inputs.hpp"
#include "stc/core/fault.hpp"

namespace stc::reference_transformer {
namespace {

/// Keeps the allocator from reusing the memory before the device's current stream is done with it. No effect on the
/// CPU; untested on a device with streams.
void record_on_current_stream(const Activations& activations) {
  for (const at::Tensor& t : {activations.first, activations.second}) {
    if (!t.defined() || t.is_cpu()) continue;
    t.record_stream(c10::impl::VirtualGuardImpl(t.device().type()).getStream(t.device()));
  }
}

}  // namespace

Transformer::Transformer(const Config& config, Options options) : config_(config), device_(options.device) {
  config_.check();
  parameters_ = std::make_shared<Parameters>(config_, device_);
  composed_ = make_composed_functions(parameters_);
  if (device_.is_cpu() && !options.composed) {
    const KernelSet& kernels = options.kernels != nullptr ? *options.kernels : cpu_kernels();
    cpu_ = make_cpu_functions(parameters_, kernels, options.parallel, /*bf16=*/false);
    bf16_ = make_cpu_functions(parameters_, kernels, options.parallel, /*bf16=*/true);
    fused_ = std::make_unique<FusedPass>(config_, parameters_, kernels, options.parallel);
    if (options.parallel.run != nullptr) threads_ = options.threads;
  }
  rope_ = make_rope(config_.block_size, config_.head_dim(), config_.rope_base, device_);
  stage_ = std::move(options.stage);
  for (int64_t i = 0; i < config_.n_layer; ++i) stages_.push_back("transformer.h." + std::to_string(i));
}

const std::shared_ptr<Functions>& Transformer::functions() const {
  if (cpu_ == nullptr) return composed_;
  if (!at::autocast::is_autocast_enabled(at::kCPU)) return cpu_;
  return at::autocast::get_autocast_dtype(at::kCPU) == at::kBFloat16 ? bf16_ : composed_;
}

const std::shared_ptr<Functions>& Transformer::generating_functions() const {
  return cpu_ != nullptr && !at::autocast::is_autocast_enabled(at::kCPU) ? cpu_ : composed_;
}

at::Tensor Transformer::gradient(size_t index) {
  Leaf& leaf = parameters_->leaves.at(index);
  parameters_->settle(*leaf.slice);
  return leaf.grad;
}

Activations Transformer::block(Functions& f, size_t index, const Sites& sites, const Attend& attend,
                               const Activations& input) {
  BlockWeights& weights = f.parameters()->blocks[index];
  at::Tensor x = input.first;
  at::Tensor normed;
  if (index == 0) {
    normed = f.norm(x, weights.ln1);
  } else {
    std::tie(x, normed) = f.add_norm(x, input.second, sites.at(index - 1, DropoutSite::kMlp), Dropout{}, weights.ln1);
  }
  const at::Tensor attended = f.linear(attend(f.linear(normed, weights.qkv), index), weights.out);
  std::tie(x, normed) = f.add_norm(x, attended, sites.at(index, DropoutSite::kAttentionOutput),
                                   sites.at(index, DropoutSite::kBlock), weights.ln2);
  return {x, f.linear(f.swiglu(f.linear(normed, weights.gate_up)), weights.down)};
}

Activations Transformer::run_stage(size_t index, const std::function<Activations(const Activations&)>& body,
                                   const Activations& input) const {
  if (!stage_) return body(input);
  stage_(stages_[index], true);
  record_on_current_stream(input);
  Activations out;
  try {
    out = body(input);
  } catch (...) {
    stage_(stages_[index], false);
    throw;
  }
  stage_(stages_[index], false);
  record_on_current_stream(out);
  return out;
}

at::Tensor Transformer::hidden_states(const ForwardPass& pass, const at::Tensor& ids, const at::Tensor& mask) const {
  const std::shared_ptr<Functions>& f = functions();
  const Sites sites{pass.dropout_key, pass.training ? config_.dropout : 0.0};
  AttentionInfo info;
  info.shape = {ids.size(0), ids.size(1), config_.n_kv_head, config_.group(), config_.head_dim()};
  info.rope = rope_;
  info.mask = mask;
  auto attend = [f, info, sites](const at::Tensor& qkv, size_t index) {
    AttentionInfo own = info;
    own.dropout = sites.at(index, DropoutSite::kProbabilities);
    return f->attention(qkv, own);
  };

  Activations state{f->embed(ids.view({-1}), sites.embedding()), at::Tensor()};
  const bool again = checkpointing_ && pass.training && at::GradMode::is_enabled();
  const size_t count = parameters_->blocks.size();
  for (size_t i = 0; i < count; ++i) {
    auto body = [f, i, sites, attend](const Activations& input) { return block(*f, i, sites, attend, input); };
    state = run_stage(
        i, [&](const Activations& input) { return again ? recompute(body, input) : body(input); }, state);
  }
  const Dropout mlp = sites.at(count - 1, DropoutSite::kMlp);
  return f->add_norm(state.first, state.second, mlp, Dropout{}, parameters_->ln_f).second;
}

Transformer::Checked Transformer::check_batch(const at::Tensor& ids, const at::Tensor& labels,
                                              const at::Tensor& mask) const {
  Checked out;
  out.ids = checked_ids(ids, config_.vocab_size, device_);
  if (ids.size(1) > config_.block_size) {
    throw Fault(STC_ERROR_INVALID_ARGUMENT,
                "input_ids: shape " + shape_text(ids) + ", block size is " + std::to_string(config_.block_size));
  }
  if (mask.defined()) out.keys = checked_mask(mask, ids, device_);
  if (labels.defined()) out.targets = checked_labels(labels, ids, config_.vocab_size, device_);
  return out;
}

at::Tensor Transformer::loss_and_grad(const ForwardPass& pass, double weight, const at::Tensor& ids,
                                      const at::Tensor& labels, const at::Tensor& mask) {
  auto unsupported = [](std::string reason) { return Fault(STC_ERROR_UNSUPPORTED, std::move(reason)); };
  if (fused_ == nullptr) throw unsupported("the fused pass of the model runs on the CPU, with its own kernels");
  if (!labels.defined()) throw unsupported("the batch has no labels");
  const bool autocast = at::autocast::is_autocast_enabled(at::kCPU);
  if (autocast && at::autocast::get_autocast_dtype(at::kCPU) != at::kBFloat16) {
    throw unsupported(std::string("the fused pass of the model computes in fp32 and bf16, not in ") +
                      c10::toString(at::autocast::get_autocast_dtype(at::kCPU)));
  }
  const Checked batch = check_batch(ids, labels, mask);
  if (const char* reason = fused_->refusal(ids.size(0), ids.size(1))) throw unsupported(reason);
  FusedRequest request;
  request.sites = {pass.dropout_key, pass.training ? config_.dropout : 0.0};
  request.weight = weight;
  request.accumulate = pass.accumulate;
  request.checkpointing = checkpointing_;
  request.bf16 = autocast;
  request.threads = threads_ > 0 ? threads_ : at::get_num_threads();
  return fused_->run(request, {batch.ids, batch.targets, batch.keys, ids.size(0), ids.size(1)}, rope_);
}

ForwardOutput Transformer::forward(const ForwardPass& pass, const at::Tensor& ids, const at::Tensor& labels,
                                   const at::Tensor& mask) {
  const auto [input, targets, keys] = check_batch(ids, labels, mask);

  Functions& f = *functions();
  if (at::GradMode::is_enabled()) f.start(pass.accumulate);
  const at::Tensor x = hidden_states(pass, input, keys);
  ForwardOutput out;
  if (labels.defined() && pass.training) {
    out.loss = f.head_loss(x, targets, parameters_->head());
    return out;
  }
  const at::Tensor logits = f.logits(x, parameters_->head());
  if (labels.defined()) out.loss = cross_entropy_of(logits, targets);
  out.logits = logits.view({ids.size(0), ids.size(1), config_.vocab_size});
  return out;
}

std::vector<std::pair<std::string, int64_t>> Transformer::dimensions() const {
  std::vector<std::pair<std::string, int64_t>> out;
  auto linear = [&](const std::string& name, int64_t in, int64_t rows) {
    out.emplace_back(name + ".in_features", in);
    out.emplace_back(name + ".out_features", rows);
  };
  const int64_t c = config_.d_model;
  out.emplace_back("transformer.wte.embedding_dim", c);
  for (int64_t i = 0; i < config_.n_layer; ++i) {
    const std::string prefix = "transformer.h." + std::to_string(i) + ".";
    linear(prefix + "attn.q_proj", c, c);
    linear(prefix + "attn.k_proj", c, config_.kv_dim());
    linear(prefix + "attn.v_proj", c, config_.kv_dim());
    linear(prefix + "attn.out_proj", c, c);
    linear(prefix + "mlp.gate_proj", c, config_.hidden());
    linear(prefix + "mlp.up_proj", c, config_.hidden());
    linear(prefix + "mlp.down_proj", config_.hidden(), c);
  }
  linear("lm_head", c, config_.vocab_size);
  return out;
}

}  // namespace stc::reference_transformer
