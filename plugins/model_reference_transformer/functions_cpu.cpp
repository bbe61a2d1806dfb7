// The forward on the CPU, in fp32 or with bf16 products. Each function is one node of the graph (nodes_cpu.hpp holds
// their backward).
#include "nodes_cpu.hpp"

namespace stc::reference_transformer {
namespace {

using namespace cpu;

class CpuFunctions final : public Functions {
 public:
  CpuFunctions(std::shared_ptr<Parameters> parameters, const KernelSet& kernels, Parallel parallel, bool bf16)
      : Functions(parameters),
        shared_(new Shared{std::move(parameters), bf16 ? kernels.bf16 : kernels.fp32, parallel, bf16}) {}

  void start(bool accumulate) override {
    if (!accumulate) parameters_->start_window();
  }

  at::Tensor embed(const at::Tensor& ids, const Dropout& dropout) override {
    const at::Tensor& table = parameters_->wte.value;
    const int64_t n = ids.numel();
    const int64_t c = table.size(1);
    at::Tensor y = empty_rows(n, c);
    shared_->parallel(n, grain(c), [&](int64_t begin, int64_t end) {
      shared_->kernels.gather(data(table), ids.const_data_ptr<int64_t>(), out(y), c, dropout, begin, end);
    });
    if (recording()) {
      auto node = make_node<EmbedNode>();
      node->shared = shared_;
      node->ids = ids;
      node->dropout = dropout;
      torch::autograd::set_history(y, node);
    }
    return y;
  }

  at::Tensor norm(const at::Tensor& x, Slice& weight) override {
    return run_norm(x, at::Tensor(), Dropout{}, Dropout{}, weight).second;
  }

  std::pair<at::Tensor, at::Tensor> add_norm(const at::Tensor& x, const at::Tensor& branch, const Dropout& mask1,
                                             const Dropout& mask2, Slice& weight) override {
    return run_norm(x, branch, mask1, mask2, weight);
  }

  at::Tensor linear(const at::Tensor& x, Slice& weight) override { return product(x, weight, false); }

  at::Tensor logits(const at::Tensor& x, Slice& weight) override { return product(x, weight, true); }

  at::Tensor attention(const at::Tensor& qkv, const AttentionInfo& info) override {
    const HeadShape& s = info.shape;
    auto node = make_node<AttentionNode>();
    node->shared = shared_;
    node->info = info;
    at::Tensor y;
    {
      Raw raw;
      node->q = at::empty({s.rows * s.kv_heads, s.group, s.time, s.head_dim}, at::kFloat);
      node->k = at::empty({s.rows * s.kv_heads, 1, s.time, s.head_dim}, at::kFloat);
      node->v = at::empty({s.rows * s.kv_heads, 1, s.time, s.head_dim}, at::kFloat);
      shared_->parallel(s.rows * s.time, grain(2 * s.qkv_dim()), [&](int64_t begin, int64_t end) {
        shared_->kernels.split_heads(data(qkv), data(info.rope.cos), data(info.rope.sin), out(node->q), out(node->k),
                                     out(node->v), s, begin, end);
      });
      y = info.dropout.active() ? node->dropout_forward() : node->flash_forward();
    }
    if (recording()) record(y, node, qkv);
    return y;
  }

  at::Tensor swiglu(const at::Tensor& gate_up) override {
    const int64_t n = gate_up.size(0);
    const int64_t f = gate_up.size(1) / 2;
    at::Tensor y = empty_rows(n, f);
    shared_->parallel(n, grain(3 * f), [&](int64_t begin, int64_t end) {
      shared_->kernels.swiglu(data(gate_up), out(y), f, begin, end);
    });
    if (recording()) {
      auto node = make_node<SwigluNode>();
      node->shared = shared_;
      node->gate_up = gate_up;
      record(y, node, gate_up);
    }
    return y;
  }

  at::Tensor head_loss(const at::Tensor& x, const at::Tensor& labels, Slice& weight) override {
    const int64_t n = x.size(0);
    const int64_t vocab = weight.value.size(0);
    const bool record_graph = recording();
    at::Tensor logits = take_logits(n, vocab);
    {
      Raw raw;
      refresh_bf16();
      at::mm_out(logits, x, shared_->transposed(weight));
    }
    at::Tensor losses = at::empty({n}, at::kDouble);
    const auto* label = labels.const_data_ptr<int64_t>();
    shared_->parallel(n, grain(6 * vocab), [&](int64_t begin, int64_t end) {
      shared_->kernels.cross_entropy(out(logits), label, losses.data_ptr<double>(), vocab, record_graph, begin, end);
    });
    double total = 0.0;
    int64_t valid = 0;
    for (int64_t i = 0; i < n; ++i) {
      total += losses.const_data_ptr<double>()[i];
      valid += label[i] != -100 ? 1 : 0;
    }
    at::Tensor loss = at::empty({}, at::kFloat);
    *loss.data_ptr<float>() = valid == 0 ? 0.0F : static_cast<float>(total / static_cast<double>(valid));
    if (record_graph) {
      auto node = make_node<HeadLossNode>();
      node->shared = shared_;
      node->weight = &weight;
      node->x = x;
      node->d_logits = logits;
      node->valid = valid;
      record(loss, node, x);
    }
    return loss;
  }

 private:
  /// `outside`: the result goes to operators, which do not round what they read.
  at::Tensor product(const at::Tensor& x, Slice& weight, bool outside) {
    at::Tensor y;
    {
      Raw raw;
      refresh_bf16();
      y = at::mm(x, shared_->transposed(weight));
      if (outside && shared_->bf16) shared_->round(y);
    }
    if (recording()) {
      auto node = make_node<LinearNode>();
      node->shared = shared_;
      node->weight = &weight;
      node->x = x;
      node->from_outside = outside;
      record(y, node, x);
    }
    return y;
  }

  /// Once after each change of the weights.
  void refresh_bf16() {
    if (shared_->bf16) reference_transformer::refresh_bf16(*parameters_, shared_->kernels, shared_->parallel);
  }

  template <class NodePtr>
  static void record(const at::Tensor& y, const NodePtr& node, const at::Tensor& x) {
    node->set_next_edges(torch::autograd::collect_next_edges(x));
    torch::autograd::set_history(y, node);
  }

  std::pair<at::Tensor, at::Tensor> run_norm(const at::Tensor& x, const at::Tensor& branch, const Dropout& mask1,
                                             const Dropout& mask2, Slice& weight) {
    const int64_t n = x.size(0);
    const int64_t c = x.size(1);
    const bool with_branch = branch.defined();
    at::Tensor sum = with_branch ? empty_rows(n, c) : x;
    at::Tensor normed = empty_rows(n, c);
    at::Tensor rstd = at::empty({n}, at::kFloat);
    shared_->parallel(n, grain(3 * c), [&](int64_t begin, int64_t end) {
      shared_->kernels.add_rms_norm(data(x), with_branch ? data(branch) : nullptr, data(weight.value),
                                    with_branch ? out(sum) : nullptr, out(normed), out(rstd), c, mask1, mask2, begin,
                                    end);
    });
    if (recording()) {
      auto node = make_node<NormNode>();
      node->shared = shared_;
      node->weight = &weight;
      node->sum = with_branch ? sum.detach() : sum;
      node->rstd = rstd;
      node->mask1 = mask1;
      node->mask2 = mask2;
      node->with_branch = with_branch;
      if (with_branch) {
        node->set_next_edges(torch::autograd::collect_next_edges(x, branch));
        torch::autograd::set_history(sum, node);
      } else {
        node->set_next_edges(torch::autograd::collect_next_edges(x));
      }
      torch::autograd::set_history(normed, node);
    }
    return {sum, normed};
  }

  /// The largest buffer of a step is kept between steps while nobody holds it: fresh pages cost more
  /// than the arithmetic on them.
  at::Tensor take_logits(int64_t n, int64_t vocab) {
    if (!logits_.defined() || logits_.use_count() > 1 || logits_.size(0) != n) logits_ = empty_rows(n, vocab);
    return logits_;
  }

  SharedPtr shared_;
  at::Tensor logits_;  // (N,V)
};

}  // namespace

void refresh_bf16(Parameters& all, const Kernels& bf16_kernels, const Parallel& parallel) {
  if (!all.bf16_values.defined()) all.allocate_bf16();
  if (!all.bf16_stale) return;
  parallel(all.values.numel(), grain(1), [&](int64_t begin, int64_t end) {
    bf16_kernels.round_bf16(data(all.values), out(all.bf16_values), begin, end);
  });
  all.bf16_stale = false;
}

std::shared_ptr<Functions> make_cpu_functions(std::shared_ptr<Parameters> parameters, const KernelSet& kernels,
                                              Parallel parallel, bool bf16) {
  return std::make_shared<CpuFunctions>(std::move(parameters), kernels, parallel, bf16);
}

}  // namespace stc::reference_transformer
