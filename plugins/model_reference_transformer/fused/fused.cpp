#include "fused.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <limits>

namespace stc::reference_transformer {
namespace {

/// Gradients that the workers of one pass may hold besides the model's own, in floats.
constexpr int64_t kMostWorkerGradients = int64_t{1} << 22;
/// Above this a product is large enough to be shared by the threads.
constexpr int64_t kSmallModel = int64_t{1} << 20;

int64_t workers_for(int64_t rows, int64_t parameters, int64_t threads) {
  if (parameters > kSmallModel) return 1;
  return std::min({rows, threads, 1 + kMostWorkerGradients / parameters});
}

int64_t count_valid(const at::Tensor& labels) {
  const auto* label = labels.const_data_ptr<int64_t>();
  return std::count_if(label, label + labels.numel(), [](int64_t value) { return value != -100; });
}

at::Tensor scalar(double value) {
  at::Tensor out = at::empty({}, at::kFloat);
  *out.data_ptr<float>() = static_cast<float>(value);
  return out;
}

}  // namespace

const char* FusedPass::refusal(int64_t rows, int64_t time) const {
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  const int64_t widest = std::max({config_.vocab_size, 2 * config_.hidden(), config_.qkv_dim()});
  if (rows > kMost / time || widest > kMost) return "a matrix of the batch has more than 2^31 rows";
  return nullptr;
}

void FusedPass::prepare(const PassShape& shape) {
  if (shape == shape_) return;
  const int64_t parameters = parameters_->values.numel();
  shape_ = PassShape{};
  const size_t bytes = plan_buffers(config_, shape, parameters, nullptr, buffers_);
  plan_buffers(config_, shape, parameters, arena_.reserve(bytes), buffers_);
  shape_ = shape;
}

PassWeights FusedPass::weights(size_t worker, bool bf16) {
  float* own = buffers_.workers[worker].gradients;
  auto view = [&](Slice& slice) {
    PassWeight out;
    out.value = (bf16 && slice.bf16.defined() ? slice.bf16 : slice.value).const_data_ptr<float>();
    out.grad = own == nullptr ? slice.grad.data_ptr<float>() : own + slice.value.storage_offset();
    out.beta = own == nullptr ? slice.take_beta() : 0.0F;
    return out;
  };
  PassWeights out;
  for (BlockWeights& block : parameters_->blocks) {
    out.blocks.push_back(
        {view(block.ln1), view(block.qkv), view(block.out), view(block.ln2), view(block.gate_up), view(block.down)});
  }
  out.ln_f = view(parameters_->ln_f);
  out.head = view(parameters_->head());
  return out;
}

void FusedPass::run_workers(const PassBatch& batch) {
  const Kernels& kernels = batch.bf16 ? kernels_.bf16 : kernels_.fp32;
  const Parallel inside = shape_.workers == 1 ? parallel_ : Parallel{};
  std::vector<RowsPass> passes;
  for (int64_t i = 0; i < shape_.workers; ++i) {
    const auto worker = static_cast<size_t>(i);
    passes.emplace_back(config_, shape_, batch, kernels, inside, buffers_, worker, weights(worker, batch.bf16),
                        shape_.rows * i / shape_.workers, shape_.rows * (i + 1) / shape_.workers);
  }
  if (passes.size() == 1) {
    d_embedded_ = passes[0].run();
    return;
  }
  parallel_(shape_.workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* d_embedded = passes[static_cast<size_t>(i)].run();
      if (i == 0) d_embedded_ = d_embedded;
    }
  });
  add_worker_gradients();
}

void FusedPass::add_worker_gradients() {
  float* total = parameters_->gradients.data_ptr<float>();
  std::vector<std::pair<int64_t, int64_t>> parts;  // of what workers write: an untied embedding is not among it
  parameters_->visit_slices([&](Slice& slice) {
    if (&slice == &parameters_->wte && &parameters_->head() != &slice) return;
    parts.emplace_back(slice.value.storage_offset(), slice.value.storage_offset() + slice.value.numel());
  });
  parallel_(parameters_->values.numel(), 8192, [&](int64_t begin, int64_t end) {
    for (const auto& [first, last] : parts) {
      for (size_t worker = 1; worker < buffers_.workers.size(); ++worker) {
        const float* from = buffers_.workers[worker].gradients;
        for (int64_t i = std::max(begin, first); i < std::min(end, last); ++i) total[i] += from[i];
      }
    }
  });
}

at::Tensor FusedPass::run(const FusedRequest& request, const FusedBatch& batch, const Rope& rope) {
  const at::NoGradGuard no_grad;
  PassShape shape;
  shape.rows = batch.rows;
  shape.time = batch.time;
  shape.workers = workers_for(batch.rows, parameters_->values.numel(), request.threads);
  shape.threads = shape.workers > 1 ? 1 : request.threads;
  shape.lanes = shape.workers > 1 ? 1 : std::min(request.threads, batch.rows * config_.n_kv_head);
  shape.own_branch = request.bf16 || request.sites.p > 0.0;
  shape.checkpointing = request.checkpointing;
  const int64_t valid = count_valid(batch.labels);
  if (valid > 0) prepare(shape);
  if (!request.accumulate) parameters_->start_window();
  if (valid == 0) {
    parameters_->settle_all();
    return scalar(0.0);
  }
  if (request.bf16) refresh_bf16(*parameters_, kernels_.bf16, parallel_);

  PassBatch pass;
  pass.ids = batch.ids.const_data_ptr<int64_t>();
  pass.labels = batch.labels.const_data_ptr<int64_t>();
  pass.mask = batch.mask.defined() ? batch.mask.const_data_ptr<bool>() : nullptr;
  pass.embedding = parameters_->wte.value.const_data_ptr<float>();
  pass.cos = rope.cos.const_data_ptr<float>();
  pass.sin = rope.sin.const_data_ptr<float>();
  pass.sites = request.sites;
  pass.loss_scale = static_cast<float>(request.weight / static_cast<double>(valid));
  pass.bf16 = request.bf16;
  run_workers(pass);

  Slice& wte = parameters_->wte;
  parameters_->settle(wte);
  const int64_t n = shape.tokens();
  const int64_t c = config_.d_model;
  float* embedding_grad = wte.grad.data_ptr<float>();
  parallel_(c, std::max<int64_t>(16, 16384 / n), [&](int64_t begin, int64_t end) {
    kernels_.fp32.scatter_add(embedding_grad, pass.ids, d_embedded_, n, c, pass.sites.embedding(), begin, end);
  });
  double total = 0.0;
  for (int64_t i = 0; i < n; ++i) total += buffers_.losses[i];
  return scalar(total / static_cast<double>(valid));
}

}  // namespace stc::reference_transformer
