#include "fused/pass.hpp"

#include <algorithm>
#include <utility>

#include "fused/gemm.hpp"

namespace stc::reference_transformer::fused {
namespace {

/// Rows whose logits exist at a time.
constexpr int64_t kHeadRows = 512;
/// Parts into which a norm's weight gradient is summed, whatever the number of threads.
constexpr int64_t kParts = 16;

int64_t part_rows(int64_t n) { return std::max<int64_t>(16, (n + kParts - 1) / kParts); }

}  // namespace

Pass::Pass(const Config& config, cpu::SharedPtr shared, Rope rope)
    : config_(config),
      shared_(std::move(shared)),
      rope_(std::move(rope)),
      blocks_(static_cast<size_t>(config.n_layer)) {}

void Pass::lay_out(Planner& planner, bool checkpointing) {
  const int64_t c = config_.d_model, f = config_.hidden();
  const int64_t kv = shape_.rows * shape_.kv_heads * shape_.time * shape_.head_dim;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    BlockState& block = blocks_[i];
    block.sum1 = planner.take(n_ * c);
    block.rstd1 = planner.take(n_);
    if (checkpointing && i > 0) {  // all blocks share the rest with the first
      const BlockState& first = blocks_.front();
      block = {block.sum1,      block.rstd1,    first.q,    first.k,     first.v,
               first.logsumexp, first.attended, first.sum2, first.rstd2, first.gate_up};
      continue;
    }
    block.q = planner.take(n_ * c);
    block.k = planner.take(kv);
    block.v = planner.take(kv);
    block.logsumexp = planner.take(n_ * config_.n_head);
    block.attended = planner.take(n_ * c);
    block.sum2 = planner.take(n_ * c);
    block.rstd2 = planner.take(n_);
    block.gate_up = planner.take(n_ * 2 * f);
  }
  Scratch& s = scratch_;
  s.normed = planner.take(n_ * c);
  s.branch = planner.take(n_ * c);
  s.wide = planner.take(n_ * std::max(config_.qkv_dim(), 2 * f));
  s.middle = planner.take(n_ * f);
  s.d_middle = planner.take(n_ * f);
  for (float*& d_sum : s.d_sum) d_sum = planner.take(n_ * c);
  s.own_branch = planner.take(n_ * c);
  s.d_normed = planner.take(n_ * c);
  s.dq = planner.take(n_ * c);
  s.dk = planner.take(kv);
  s.dv = planner.take(kv);
  s.attention = planner.take(attention_scratch(shape_));
  s.partial = planner.take((n_ + part_rows(n_) - 1) / part_rows(n_) * c);
  s.sum = planner.take(n_ * c);
  s.rstd = planner.take(n_);
  s.logits = planner.take(std::min(n_, kHeadRows) * config_.vocab_size);
  s.losses = planner.take<double>(n_);
}

void Pass::plan(const Batch& batch, bool checkpointing) {
  batch_ = batch;
  n_ = batch.rows * batch.time;
  shape_ = {batch.rows, batch.time, config_.n_kv_head, config_.group(), config_.head_dim()};
  Planner counting(nullptr);
  lay_out(counting, checkpointing);
  arena_.reserve(counting.used());
  Planner planner(arena_.data());
  lay_out(planner, checkpointing);
}

double Pass::run(const Batch& batch, const DropoutSites& sites, double weight, bool checkpointing) {
  plan(batch, checkpointing);
  sites_ = sites;
  shared_->refresh_bf16();
  embed();
  for (size_t i = 0; i < blocks_.size(); ++i) {
    enter_block(i);
    run_block(i);
    linear(scratch_.middle, shared_->parameters->blocks[i].down, scratch_.branch);
  }
  const double loss = head(weight);
  for (size_t i = blocks_.size(); i-- > 0;) block_backward(i, checkpointing);
  embed_backward();
  return loss;
}

void Pass::linear(const float* x, const Slice& weight, float* y) const {
  const int64_t out = weight.value.size(0), in = weight.value.size(1);
  gemm(Op::kNone, Op::kTransposed, n_, out, in, 1.0F, x, in, cpu::data(shared_->matrix(weight)), in, 0.0F, y, out);
}

void Pass::linear_backward(const float* dy, const float* x, Slice& weight, float* dx) const {
  const int64_t out = weight.value.size(0), in = weight.value.size(1);
  gemm(Op::kTransposed, Op::kNone, out, in, n_, 1.0F, dy, out, x, in, weight.take_beta(), cpu::out(weight.grad), in);
  gemm(Op::kNone, Op::kNone, n_, in, out, 1.0F, dy, out, cpu::data(shared_->matrix(weight)), in, 0.0F, dx, in);
}

void Pass::add_norm(const float* x, const float* branch, const Slice& weight, float* sum, float* rstd,
                    const Dropout& mask1, const Dropout& mask2) {
  const int64_t c = config_.d_model;
  rows(3 * c, [&](int64_t begin, int64_t end) {
    shared_->kernels.add_rms_norm(x, branch, cpu::data(weight.value), sum, scratch_.normed, rstd, c, mask1, mask2,
                                  begin, end);
  });
}

void Pass::normed_again(const float* sum, const float* rstd, const Slice& weight) {
  const int64_t c = config_.d_model;
  rows(2 * c, [&](int64_t begin, int64_t end) {
    shared_->kernels.apply_norm(sum, rstd, cpu::data(weight.value), scratch_.normed, c, begin, end);
  });
}

void Pass::norm_backward(const float* sum, const float* rstd, Slice& weight, bool with_stream, const Dropout& mask1,
                         const Dropout& mask2) {
  const int64_t c = config_.d_model;
  const int64_t part = part_rows(n_), parts = (n_ + part - 1) / part;
  // The branch is a product's result: in bf16 its gradient is rounded, which that of the stream is not.
  const bool own_branch = shared_->bf16 || mask1.active() || mask2.active();
  std::fill_n(scratch_.partial, parts * c, 0.0F);
  shared_->parallel(parts, std::max<int64_t>(1, cpu::grain(part * c)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      shared_->kernels.add_rms_norm_backward(scratch_.d_normed, with_stream ? scratch_.d_sum[0] : nullptr, sum,
                                             cpu::data(weight.value), rstd, scratch_.d_sum[1],
                                             own_branch ? scratch_.own_branch : nullptr, scratch_.partial + i * c, c,
                                             mask1, mask2, i * part, std::min(n_, (i + 1) * part));
    }
  });
  std::swap(scratch_.d_sum[0], scratch_.d_sum[1]);
  scratch_.d_branch = own_branch ? scratch_.own_branch : scratch_.d_sum[0];
  float* total = cpu::out(weight.grad);
  if (weight.take_beta() == 0.0F) std::fill_n(total, c, 0.0F);
  for (int64_t i = 0; i < parts; ++i) {
    for (int64_t j = 0; j < c; ++j) total[j] += scratch_.partial[i * c + j];
  }
}

void Pass::embed() {
  const int64_t c = config_.d_model;
  rows(c, [&](int64_t begin, int64_t end) {
    shared_->kernels.gather(cpu::data(shared_->parameters->wte.value), batch_.ids, blocks_.front().sum1, c,
                            sites_.embedding(), begin, end);
  });
}

void Pass::enter_block(size_t index) {
  BlockState& block = blocks_[index];
  const Slice& ln1 = shared_->parameters->blocks[index].ln1;
  if (index == 0) {
    add_norm(block.sum1, nullptr, ln1, nullptr, block.rstd1, Dropout{}, Dropout{});
  } else {
    add_norm(blocks_[index - 1].sum2, scratch_.branch, ln1, block.sum1, block.rstd1,
             sites_.at(index - 1, DropoutSite::kMlp), Dropout{});
  }
}

AttentionInputs Pass::attention_of(const BlockState& state, size_t index) const {
  return {shape_, state.q, state.k, state.v, batch_.mask, sites_.at(index, DropoutSite::kProbabilities)};
}

void Pass::run_block(size_t index) {
  BlockState& block = blocks_[index];
  const BlockWeights& weights = shared_->parameters->blocks[index];
  const int64_t f = config_.hidden();
  linear(scratch_.normed, weights.qkv, scratch_.wide);
  rows(2 * shape_.qkv_dim(), [&](int64_t begin, int64_t end) {
    shared_->kernels.split_heads(scratch_.wide, cpu::data(rope_.cos), cpu::data(rope_.sin), block.q, block.k, block.v,
                                 shape_, begin, end);
  });
  attention_forward(*shared_, attention_of(block, index), scratch_.attention, block.attended, block.logsumexp);
  linear(block.attended, weights.out, scratch_.branch);
  add_norm(block.sum1, scratch_.branch, weights.ln2, block.sum2, block.rstd2,
           sites_.at(index, DropoutSite::kAttentionOutput), sites_.at(index, DropoutSite::kBlock));
  linear(scratch_.normed, weights.gate_up, block.gate_up);
  rows(3 * f,
       [&](int64_t begin, int64_t end) { shared_->kernels.swiglu(block.gate_up, scratch_.middle, f, begin, end); });
}

double Pass::head(double weight) {
  const int64_t c = config_.d_model, vocab = config_.vocab_size;
  Parameters& parameters = *shared_->parameters;
  Slice& matrix = parameters.head();
  const size_t last = blocks_.size() - 1;
  const Dropout mask = sites_.at(last, DropoutSite::kMlp);
  add_norm(blocks_[last].sum2, scratch_.branch, parameters.ln_f, scratch_.sum, scratch_.rstd, mask, Dropout{});

  const int64_t valid = n_ - std::count(batch_.labels, batch_.labels + n_, int64_t{-100});
  const auto scale = static_cast<float>(valid == 0 ? 0.0 : weight / static_cast<double>(valid));
  const float* w = cpu::data(shared_->matrix(matrix));
  for (int64_t begin = 0; begin < n_; begin += kHeadRows) {
    const int64_t count = std::min(kHeadRows, n_ - begin);
    const float* x = scratch_.normed + begin * c;
    gemm(Op::kNone, Op::kTransposed, count, vocab, c, 1.0F, x, c, w, c, 0.0F, scratch_.logits, vocab);
    shared_->parallel(count, cpu::grain(6 * vocab), [&](int64_t first, int64_t end) {
      shared_->kernels.cross_entropy(scratch_.logits, batch_.labels + begin, scratch_.losses + begin, vocab,
                                     /*replace=*/true, first, end);
    });
    gemm(Op::kTransposed, Op::kNone, vocab, c, count, scale, scratch_.logits, vocab, x, c, matrix.take_beta(),
         cpu::out(matrix.grad), c);
    gemm(Op::kNone, Op::kNone, count, c, vocab, scale, scratch_.logits, vocab, w, c, 0.0F,
         scratch_.d_normed + begin * c, c);
  }
  norm_backward(scratch_.sum, scratch_.rstd, parameters.ln_f, /*with_stream=*/false, mask, Dropout{});

  double total = 0.0;
  for (int64_t i = 0; i < n_; ++i) total += scratch_.losses[i];
  return valid == 0 ? 0.0 : total / static_cast<double>(valid);
}

void Pass::block_backward(size_t index, bool checkpointing) {
  BlockState& block = blocks_[index];
  BlockWeights& weights = shared_->parameters->blocks[index];
  const int64_t f = config_.hidden();
  if (checkpointing) {
    normed_again(block.sum1, block.rstd1, weights.ln1);
    run_block(index);
  } else {
    rows(3 * f,
         [&](int64_t begin, int64_t end) { shared_->kernels.swiglu(block.gate_up, scratch_.middle, f, begin, end); });
  }
  linear_backward(scratch_.d_branch, scratch_.middle, weights.down, scratch_.d_middle);
  rows(4 * f, [&](int64_t begin, int64_t end) {
    shared_->kernels.swiglu_backward(scratch_.d_middle, block.gate_up, scratch_.wide, f, begin, end);
  });
  normed_again(block.sum2, block.rstd2, weights.ln2);
  linear_backward(scratch_.wide, scratch_.normed, weights.gate_up, scratch_.d_normed);
  norm_backward(block.sum2, block.rstd2, weights.ln2, /*with_stream=*/true,
                sites_.at(index, DropoutSite::kAttentionOutput), sites_.at(index, DropoutSite::kBlock));
  attention_part_backward(index);
}

void Pass::attention_part_backward(size_t index) {
  BlockState& block = blocks_[index];
  BlockWeights& weights = shared_->parameters->blocks[index];
  float* d_attended = scratch_.d_normed;
  linear_backward(scratch_.d_branch, block.attended, weights.out, d_attended);
  if (shared_->bf16) shared_->round(d_attended, n_ * config_.d_model);
  attention_backward(*shared_, attention_of(block, index), block.logsumexp, d_attended, scratch_.attention, scratch_.dq,
                     scratch_.dk, scratch_.dv);
  const int64_t head = shape_.time * shape_.head_dim;
  const HeadStrides q_strides = {shape_.group * head, head, shape_.head_dim};
  const HeadStrides kv_strides = {head, 0, shape_.head_dim};
  rows(2 * shape_.qkv_dim(), [&](int64_t begin, int64_t end) {
    shared_->kernels.split_heads_backward(scratch_.dq, q_strides, scratch_.dk, scratch_.dv, kv_strides,
                                          cpu::data(rope_.cos), cpu::data(rope_.sin), scratch_.wide, shape_,
                                          /*kv_copies=*/1, begin, end);
  });
  normed_again(block.sum1, block.rstd1, weights.ln1);
  linear_backward(scratch_.wide, scratch_.normed, weights.qkv, scratch_.d_normed);
  const Dropout mask = index == 0 ? Dropout{} : sites_.at(index - 1, DropoutSite::kMlp);
  norm_backward(block.sum1, block.rstd1, weights.ln1, /*with_stream=*/true, mask, Dropout{});
}

void Pass::embed_backward() {
  const int64_t c = config_.d_model;
  Parameters& parameters = *shared_->parameters;
  parameters.settle(parameters.wte);
  shared_->parallel(c, std::max<int64_t>(16, cpu::grain(n_)), [&](int64_t begin, int64_t end) {
    shared_->kernels.scatter_add(cpu::out(parameters.wte.grad), batch_.ids, scratch_.d_sum[0], n_, c,
                                 sites_.embedding(), begin, end);
  });
}

}  // namespace stc::reference_transformer::fused
