/// \file
/// Where each activation of a fused pass lies. Nothing is allocated while a pass runs.
///
/// Legend: B rows, T positions, N = B*T, C model width, Q = (H+2K)*D, F MLP width, V vocabulary.
#pragma once

#include <cstdint>
#include <vector>

#include "../config.hpp"
#include "attention_call.hpp"

namespace stc::reference_transformer {

/// What decides about the sizes of buffers.
struct PassShape {
  int64_t rows = 0;            // B
  int64_t time = 0;            // T
  int64_t workers = 1;         // each runs the whole pass on its own rows, with its own gradients
  int64_t threads = 1;         // of a product in one worker
  int64_t lanes = 1;           // of attention in one worker: tasks that run at a time
  bool own_branch = false;     // the gradient of a branch differs from that of the residual sum (dropout, bf16)
  bool checkpointing = false;  // blocks keep their input only
  int64_t tokens() const { return rows * time; }
  bool operator==(const PassShape&) const = default;
};

/// What a block keeps for backward. With checkpointing all blocks share all but x and rstd1.
struct BlockBuffers {
  float* x = nullptr;         // (N,C), input: the residual sum
  float* rstd1 = nullptr;     // (N)
  float* qkv = nullptr;       // (N,Q), later its gradient
  float* stats = nullptr;     // (B*H*T, 2)
  float* attended = nullptr;  // (N, H*D)
  float* sum = nullptr;       // (N,C), x + attention
  float* rstd2 = nullptr;     // (N)
  float* gate_up = nullptr;   // (N,2F), later its gradient
};

/// What each worker has for itself.
struct WorkerBuffers {
  float* logits = nullptr;        // (head_rows, V)
  float* partial = nullptr;       // (kNormChunks, C)
  float* gradients = nullptr;     // all of them, packed; null for worker 0, which has the model's
  std::vector<float*> attention;  // one scratch for each lane
};

struct Buffers {
  std::vector<BlockBuffers> blocks;
  float* x_final = nullptr;     // (N,C)
  float* rstd_final = nullptr;  // (N)
  float* normed = nullptr;      // (N,C), of the current norm
  float* branch = nullptr;      // (N,C), result of attention or MLP
  float* act = nullptr;         // (N,F)
  float* dx[2] = {};            // (N,C), gradient of the residual sum, alternating
  float* d_branch = nullptr;    // (N,C), with own_branch
  double* losses = nullptr;     // (N)
  std::vector<WorkerBuffers> workers;
  int64_t head_rows = 0;  // rows of logits that exist at a time
};

inline constexpr int64_t kNormChunks = 16;

/// Rows of logits at a time: 512, fewer where they would take more than 64 MB.
int64_t head_rows(int64_t rows, int64_t vocab);

/// Assigns buffers from `base`; null: only counts. Returns the bytes taken.
size_t plan_buffers(const Config& config, const PassShape& shape, int64_t parameters, float* base, Buffers& out);

}  // namespace stc::reference_transformer
