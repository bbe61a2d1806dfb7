#include "plan.hpp"

#include <algorithm>

namespace stc::reference_transformer {
namespace {

/// Consecutive places, each at a multiple of 64 bytes.
class Places {
 public:
  explicit Places(float* base) : base_(base) {}
  float* take(int64_t floats) {
    float* place = base_ == nullptr ? nullptr : base_ + used_;
    used_ += (floats + 15) / 16 * 16;
    return place;
  }
  size_t bytes() const { return static_cast<size_t>(used_) * sizeof(float); }

 private:
  float* base_;
  int64_t used_ = 0;
};

void place_kept(const Config& config, const PassShape& shape, Places& places, BlockBuffers& block) {
  const int64_t n = shape.tokens();
  block.qkv = places.take(n * config.qkv_dim());
  block.stats = places.take(2 * n * config.n_head);
  block.attended = places.take(n * config.d_model);
  block.sum = places.take(n * config.d_model);
  block.rstd2 = places.take(n);
  block.gate_up = places.take(2 * n * config.hidden());
}

}  // namespace

int64_t head_rows(int64_t rows, int64_t vocab) {
  constexpr int64_t kMostLogits = int64_t{1} << 24;
  return std::min(rows, std::clamp<int64_t>(kMostLogits / vocab, 32, 512));
}

size_t plan_buffers(const Config& config, const PassShape& shape, int64_t parameters, float* base, Buffers& out) {
  Places places(base);
  const int64_t n = shape.tokens();
  const int64_t c = config.d_model;
  out = Buffers{};
  out.blocks.resize(static_cast<size_t>(config.n_layer));
  BlockBuffers shared;
  if (shape.checkpointing) place_kept(config, shape, places, shared);
  for (BlockBuffers& block : out.blocks) {
    if (shape.checkpointing) {
      block = shared;
    } else {
      place_kept(config, shape, places, block);
    }
    block.x = places.take(n * c);
    block.rstd1 = places.take(n);
  }
  out.x_final = places.take(n * c);
  out.rstd_final = places.take(n);
  out.normed = places.take(n * c);
  out.branch = places.take(n * c);
  out.act = places.take(n * config.hidden());
  for (float*& dx : out.dx) dx = places.take(n * c);
  out.d_branch = shape.own_branch ? places.take(n * c) : nullptr;
  out.losses = reinterpret_cast<double*>(places.take(2 * n));
  AttentionCall call;
  call.shape = {shape.rows, shape.time, config.n_kv_head, config.group(), config.head_dim()};
  out.workers.resize(static_cast<size_t>(shape.workers));
  const int64_t most_rows = (shape.rows + shape.workers - 1) / shape.workers * shape.time;
  out.head_rows = head_rows(most_rows, config.vocab_size);
  for (size_t i = 0; i < out.workers.size(); ++i) {
    WorkerBuffers& worker = out.workers[i];
    worker.logits = places.take(out.head_rows * config.vocab_size);
    worker.partial = places.take(kNormChunks * c);
    worker.gradients = i == 0 ? nullptr : places.take(parameters);
    for (int64_t lane = 0; lane < shape.lanes; ++lane) worker.attention.push_back(places.take(call.scratch()));
  }
  return places.bytes();
}

}  // namespace stc::reference_transformer
