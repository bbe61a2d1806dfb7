// Level exact: a two-layer perceptron, p(next token) from the token alone.
#include <stc/exact/model.hpp>

#include <ATen/ops/embedding.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/zeros.h>

struct Mlp {
  struct Params {
    int64_t vocab_size = 128;
    int64_t hidden = 32;
    template <class V>
    static void describe(V& v) {
      v("vocab_size", &Params::vocab_size, "tokens", 1, 65536)("hidden", &Params::hidden, "hidden width", 1, 65536);
    }
  };
  explicit Mlp(const Params& p)
      : embedding_VH(at::randn({p.vocab_size, p.hidden}).mul_(0.1).requires_grad_()),
        hidden_HH(at::randn({p.hidden, p.hidden}).mul_(0.1).requires_grad_()),
        bias_H(at::zeros({p.hidden}).requires_grad_()),
        head_VH(at::randn({p.vocab_size, p.hidden}).mul_(0.1).requires_grad_()) {}

  std::vector<stc::exact::Parameter> parameters() {
    return {{"embedding.weight", embedding_VH, STC_ROLE_EMBEDDING},
            {"hidden.weight", hidden_HH, STC_ROLE_LINEAR},
            {"hidden.bias", bias_H, STC_ROLE_BIAS},
            {"head.weight", head_VH, STC_ROLE_HEAD}};
  }
  /// ids (B,T) -> logits (B,T,V)
  at::Tensor forward(const at::Tensor& ids_BT) {
    return at::linear(at::relu(at::linear(at::embedding(embedding_VH, ids_BT), hidden_HH, bias_H)), head_VH);
  }

 private:
  at::Tensor embedding_VH, hidden_HH, bias_H, head_VH;
};

STC_MODEL_PLUGIN(Mlp, "mlp", "1.0.0", "two-layer perceptron")
