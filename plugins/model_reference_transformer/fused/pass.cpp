#include "pass.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "linear.hpp"

namespace stc::reference_transformer {

RowsPass::RowsPass(const Config& config, const PassShape& shape, const PassBatch& batch, const Kernels& kernels,
                   Parallel parallel, Buffers& buffers, size_t worker, PassWeights weights, int64_t first, int64_t last)
    : config_(config),
      shape_(shape),
      batch_(batch),
      kernels_(kernels),
      parallel_(parallel),
      buffers_(buffers),
      own_(buffers.workers[worker]),
      weights_(std::move(weights)),
      first_(first),
      last_(last),
      begin_(first * shape.time),
      end_(last * shape.time) {}

template <class Fn>
void RowsPass::over_rows(int64_t row_cost, Fn&& fn) const {
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, row_cost));
  parallel_(end_ - begin_, grain, [&](int64_t begin, int64_t end) { fn(begin_ + begin, begin_ + end); });
}

const float* RowsPass::run() {
  const int64_t c = config_.d_model;
  over_rows(c, [&](int64_t begin, int64_t end) {
    kernels_.gather(batch_.embedding, batch_.ids, buffers_.blocks[0].x, c, batch_.sites.embedding(), begin, end);
  });
  const size_t count = buffers_.blocks.size();
  for (size_t i = 0; i < count; ++i) forward_block(i, false);
  const Dropout last_mask = batch_.sites.at(count - 1, DropoutSite::kMlp);
  norm(buffers_.blocks[count - 1].sum, buffers_.branch, weights_.ln_f, buffers_.x_final, buffers_.rstd_final, last_mask,
       Dropout{});
  head();
  norm_backward(buffers_.x_final, buffers_.rstd_final, weights_.ln_f, false, true, last_mask, Dropout{});
  for (size_t i = count; i-- > 0;) {
    if (shape_.checkpointing && i + 1 != count) forward_block(i, true);
    backward_block(i);
  }
  return dx();
}

Linear RowsPass::layer(int64_t in, int64_t out) const {
  return {end_ - begin_, in, out, shape_.threads, batch_.bf16, parallel_};
}

void RowsPass::product(const float* x, const PassWeight& weight, float* y, int64_t in, int64_t out) const {
  layer(in, out).forward(x + begin_ * in, weight.value, y + begin_ * out);
}

void RowsPass::input_gradient(const float* dy, const PassWeight& weight, float* dx, int64_t in, int64_t out) const {
  layer(in, out).input_gradient(dy + begin_ * out, weight.value, dx + begin_ * in);
}

void RowsPass::weight_gradient(const float* dy, const float* x, const PassWeight& weight, int64_t in,
                               int64_t out) const {
  layer(in, out).weight_gradient(dy + begin_ * out, x + begin_ * in, weight.grad, 1.0F, weight.beta);
}

void RowsPass::norm(const float* x, const float* branch, const PassWeight& weight, float* sum, float* rstd,
                    const Dropout& mask1, const Dropout& mask2) {
  const int64_t c = config_.d_model;
  over_rows(3 * c, [&](int64_t begin, int64_t end) {
    kernels_.add_rms_norm(x, branch, weight.value, sum, buffers_.normed, rstd, c, mask1, mask2, begin, end);
  });
}

/// `again`: x and rstd1 are known, and the MLP's result is not needed.
void RowsPass::forward_block(size_t i, bool again) {
  BlockBuffers& kept = buffers_.blocks[i];
  const PassBlock& w = weights_.blocks[i];
  const int64_t c = config_.d_model;
  const int64_t f = config_.hidden();
  if (again) {
    normed_again(kept.x, kept.rstd1, w.ln1);
  } else if (i == 0) {
    norm(kept.x, nullptr, w.ln1, nullptr, kept.rstd1, Dropout{}, Dropout{});
  } else {
    norm(buffers_.blocks[i - 1].sum, buffers_.branch, w.ln1, kept.x, kept.rstd1,
         batch_.sites.at(i - 1, DropoutSite::kMlp), Dropout{});
  }
  product(buffers_.normed, w.qkv, kept.qkv, c, config_.qkv_dim());
  attend(i);
  product(kept.attended, w.out, buffers_.branch, c, c);
  norm(kept.x, buffers_.branch, w.ln2, kept.sum, kept.rstd2, batch_.sites.at(i, DropoutSite::kAttentionOutput),
       batch_.sites.at(i, DropoutSite::kBlock));
  product(buffers_.normed, w.gate_up, kept.gate_up, c, 2 * f);
  if (again) return;
  over_rows(3 * f, [&](int64_t begin, int64_t end) { kernels_.swiglu(kept.gate_up, buffers_.act, f, begin, end); });
  product(buffers_.act, w.down, buffers_.branch, f, c);
}

AttentionCall RowsPass::attention_call(size_t i) const {
  AttentionCall call;
  call.qkv = buffers_.blocks[i].qkv;
  call.cos = batch_.cos;
  call.sin = batch_.sin;
  call.mask = batch_.mask;
  call.stats = buffers_.blocks[i].stats;
  call.shape = {shape_.rows, shape_.time, config_.n_kv_head, config_.group(), config_.head_dim()};
  call.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config_.head_dim())));
  call.dropout = batch_.sites.at(i, DropoutSite::kProbabilities);
  return call;
}

void RowsPass::attend(size_t i) {
  const AttentionCall call = attention_call(i);
  parallel_(shape_.lanes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t lane = begin; lane < end; ++lane) {
      float* scratch = own_.attention[static_cast<size_t>(lane)];
      for (int64_t task = first_ * config_.n_kv_head + lane; task < last_ * config_.n_kv_head; task += shape_.lanes) {
        kernels_.attention(call, buffers_.blocks[i].attended, scratch, task);
      }
    }
  });
}

void RowsPass::attend_backward(size_t i) {
  const AttentionCall call = attention_call(i);
  parallel_(shape_.lanes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t lane = begin; lane < end; ++lane) {
      float* scratch = own_.attention[static_cast<size_t>(lane)];
      for (int64_t task = first_ * config_.n_kv_head + lane; task < last_ * config_.n_kv_head; task += shape_.lanes) {
        kernels_.attention_backward(call, buffers_.branch, buffers_.blocks[i].qkv, scratch, task);
      }
    }
  });
}

void RowsPass::head() {
  const int64_t c = config_.d_model;
  const int64_t vocab = config_.vocab_size;
  float beta = weights_.head.beta;
  for (int64_t begin = begin_; begin < end_; begin += buffers_.head_rows) {
    const int64_t rows = std::min(buffers_.head_rows, end_ - begin);
    const float* x = buffers_.normed + begin * c;
    const Linear layer{rows, c, vocab, shape_.threads, batch_.bf16, parallel_};
    layer.forward(x, weights_.head.value, own_.logits);
    parallel_(rows, std::max<int64_t>(1, 16384 / (6 * vocab)), [&](int64_t from, int64_t to) {
      kernels_.cross_entropy(own_.logits, batch_.labels + begin, buffers_.losses + begin, vocab, true, from, to);
    });
    layer.weight_gradient(own_.logits, x, weights_.head.grad, batch_.loss_scale, beta);
    layer.input_gradient(own_.logits, weights_.head.value, buffers_.branch + begin * c, batch_.loss_scale);
    beta = 1.0F;
  }
}

void RowsPass::norm_backward(const float* sum, const float* rstd, const PassWeight& weight, bool direct,
                             bool with_branch, const Dropout& mask1, const Dropout& mask2) {
  const int64_t c = config_.d_model;
  const int64_t n = end_ - begin_;
  const float* before = direct ? dx() : nullptr;
  current_ = 1 - current_;
  float* d_branch = with_branch && shape_.own_branch ? buffers_.d_branch : nullptr;
  // Chunks of rows do not depend on the threads, so that the sum over rows has one order.
  const int64_t chunk = std::max<int64_t>(16, (n + kNormChunks - 1) / kNormChunks);
  const int64_t chunks = (n + chunk - 1) / chunk;
  std::fill_n(own_.partial, chunks * c, 0.0F);
  parallel_(chunks, std::max<int64_t>(1, 16384 / (chunk * c)), [&](int64_t from, int64_t to) {
    for (int64_t i = from; i < to; ++i) {
      kernels_.add_rms_norm_backward(buffers_.branch, before, sum, weight.value, rstd, dx(), d_branch,
                                     own_.partial + i * c, c, mask1, mask2, begin_ + i * chunk,
                                     std::min(end_, begin_ + (i + 1) * chunk));
    }
  });
  if (weight.beta == 0.0F) std::fill_n(weight.grad, c, 0.0F);
  for (int64_t i = 0; i < chunks; ++i) {
    for (int64_t j = 0; j < c; ++j) weight.grad[j] += own_.partial[i * c + j];
  }
}

void RowsPass::normed_again(const float* x, const float* rstd, const PassWeight& weight) {
  over_rows(2 * config_.d_model, [&](int64_t begin, int64_t end) {
    kernels_.apply_norm(x, rstd, weight.value, buffers_.normed, config_.d_model, begin, end);
  });
}

void RowsPass::backward_block(size_t i) {
  BlockBuffers& kept = buffers_.blocks[i];
  const PassBlock& w = weights_.blocks[i];
  const int64_t c = config_.d_model;
  const int64_t f = config_.hidden();

  input_gradient(grad_branch(), w.down, buffers_.act, f, c);
  over_rows(6 * f, [&](int64_t begin, int64_t end) {
    kernels_.swiglu_backward_in_place(kept.gate_up, buffers_.act, f, begin, end);
  });
  weight_gradient(grad_branch(), buffers_.act, w.down, f, c);
  normed_again(kept.sum, kept.rstd2, w.ln2);
  weight_gradient(kept.gate_up, buffers_.normed, w.gate_up, c, 2 * f);
  input_gradient(kept.gate_up, w.gate_up, buffers_.branch, c, 2 * f);
  norm_backward(kept.sum, kept.rstd2, w.ln2, true, true, batch_.sites.at(i, DropoutSite::kAttentionOutput),
                batch_.sites.at(i, DropoutSite::kBlock));

  weight_gradient(grad_branch(), kept.attended, w.out, c, c);
  input_gradient(grad_branch(), w.out, buffers_.branch, c, c);
  attend_backward(i);
  normed_again(kept.x, kept.rstd1, w.ln1);
  weight_gradient(kept.qkv, buffers_.normed, w.qkv, c, config_.qkv_dim());
  input_gradient(kept.qkv, w.qkv, buffers_.branch, c, config_.qkv_dim());
  norm_backward(kept.x, kept.rstd1, w.ln1, true, i > 0, i > 0 ? batch_.sites.at(i - 1, DropoutSite::kMlp) : Dropout{},
                Dropout{});
}

}  // namespace stc::reference_transformer
