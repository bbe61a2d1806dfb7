// The model of a bench configuration, trained by a plain loop over LibTorch's C++ API: what a C++ program gets without
// stc. The same as pytorch_eager.py, which has the details; torch::optim::AdamW has no fused form. Prints a line
// `train_step step=<n> loss=<x>` after every step.
//
//   stc-bench-libtorch configs/bench/tiny.yaml --max-steps 100
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <torch/torch.h>
#include <yaml-cpp/yaml.h>

namespace F = torch::nn::functional;

namespace {

struct Sizes {
  explicit Sizes(const YAML::Node& m)
      : vocab(m["vocab_size"].as<int64_t>()),
        positions(m["max_seq_len"].as<int64_t>()),
        layers(m["n_layer"].as<int64_t>()),
        heads(m["n_head"].as<int64_t>()),
        kv_heads(m["n_kv_head"].as<int64_t>()),
        width(m["d_model"].as<int64_t>()),
        head_dim(width / heads),
        hidden((static_cast<int64_t>(static_cast<double>(m["d_ff"].as<int64_t>()) * (2.0 / 3.0)) + heads - 1) / heads *
               heads) {}
  int64_t vocab, positions, layers, heads, kv_heads, width, head_dim, hidden;
};

torch::nn::Linear linear(int64_t in, int64_t out) {
  return torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false));
}

struct Rope {
  explicit Rope(const Sizes& s) {
    const torch::Tensor frequency =
        torch::pow(10000.0, -torch::arange(0, s.head_dim, 2, torch::kFloat) / static_cast<double>(s.head_dim));
    const torch::Tensor angle = torch::outer(torch::arange(s.positions, torch::kFloat), frequency).repeat({1, 2});
    cos = angle.cos();
    sin = angle.sin();
  }
  torch::Tensor turn(const torch::Tensor& x) const {  // (B, H, T, D)
    const int64_t t = x.size(2), half = x.size(3) / 2;
    const torch::Tensor turned = torch::cat({-x.narrow(3, half, half), x.narrow(3, 0, half)}, -1);
    return x * cos.narrow(0, 0, t) + turned * sin.narrow(0, 0, t);
  }
  torch::Tensor cos, sin;
};

struct Norm : torch::nn::Module {
  explicit Norm(int64_t width) : weight(register_parameter("weight", torch::ones({width}))) {}
  torch::Tensor forward(const torch::Tensor& x) { return torch::rms_norm(x, weight.sizes(), weight, 1e-5); }
  torch::Tensor weight;
};

struct Block : torch::nn::Module {
  explicit Block(const Sizes& s)
      : sizes(s),
        ln1(register_module("ln1", std::make_shared<Norm>(s.width))),
        ln2(register_module("ln2", std::make_shared<Norm>(s.width))),
        q(register_module("q", linear(s.width, s.width))),
        k(register_module("k", linear(s.width, s.kv_heads * s.head_dim))),
        v(register_module("v", linear(s.width, s.kv_heads * s.head_dim))),
        out(register_module("out", linear(s.width, s.width))),
        gate(register_module("gate", linear(s.width, s.hidden))),
        up(register_module("up", linear(s.width, s.hidden))),
        down(register_module("down", linear(s.hidden, s.width))) {}

  torch::Tensor attend(const torch::Tensor& x, const Rope& rope) {
    const int64_t b = x.size(0), t = x.size(1);
    const auto heads = [&](torch::nn::Linear& layer, int64_t count) {
      return layer->forward(x).view({b, t, count, sizes.head_dim}).transpose(1, 2);
    };
    const torch::Tensor y = torch::scaled_dot_product_attention(
        rope.turn(heads(q, sizes.heads)), rope.turn(heads(k, sizes.kv_heads)), heads(v, sizes.kv_heads), {}, 0.0,
        /*is_causal=*/true, {}, /*enable_gqa=*/sizes.kv_heads != sizes.heads);
    return out->forward(y.transpose(1, 2).reshape({b, t, sizes.width}));
  }

  torch::Tensor forward(const torch::Tensor& x, const Rope& rope) {
    const torch::Tensor seen = x + attend(ln1->forward(x), rope);
    const torch::Tensor normed = ln2->forward(seen);
    return seen + down->forward(torch::silu(gate->forward(normed)) * up->forward(normed));
  }

  Sizes sizes;
  std::shared_ptr<Norm> ln1, ln2;
  torch::nn::Linear q, k, v, out, gate, up, down;
};

struct Model : torch::nn::Module {
  explicit Model(const Sizes& s)
      : rope(s),
        wte(register_module("wte", torch::nn::Embedding(s.vocab, s.width))),
        ln_f(register_module("ln_f", std::make_shared<Norm>(s.width))) {
    for (int64_t i = 0; i < s.layers; ++i) {
      blocks.push_back(register_module("block" + std::to_string(i), std::make_shared<Block>(s)));
    }
    for (torch::Tensor& parameter : parameters()) {
      if (parameter.dim() == 2) torch::nn::init::normal_(parameter, 0.0, 0.02);
    }
  }
  torch::Tensor loss(const torch::Tensor& ids, const torch::Tensor& labels) {
    torch::Tensor x = wte->forward(ids);
    for (const std::shared_ptr<Block>& block : blocks) x = block->forward(x, rope);
    const torch::Tensor logits = torch::linear(ln_f->forward(x), wte->weight);
    return F::cross_entropy(logits.view({-1, logits.size(-1)}), labels.view(-1));
  }
  Rope rope;
  torch::nn::Embedding wte;
  std::shared_ptr<Norm> ln_f;
  std::vector<std::shared_ptr<Block>> blocks;
};

/// Sample i of the synthetic set: drawn by a generator seeded with seed + i.
torch::Tensor sample(const YAML::Node& config, const Sizes& sizes, int64_t index) {
  const int64_t i = index % config["data"]["num_tokens"].as<int64_t>();
  const at::Generator generator =
      at::make_generator<at::CPUGeneratorImpl>(config["run"]["seed"].as<uint64_t>() + static_cast<uint64_t>(i));
  return torch::randint(0, sizes.vocab, {sizes.positions + 1}, generator, torch::kLong);
}

void train(const YAML::Node& config, int64_t steps) {
  const Sizes sizes(config["model"]);
  const YAML::Node& o = config["optimizer"];
  torch::manual_seed(config["run"]["seed"].as<uint64_t>());
  Model model(sizes);
  torch::optim::AdamW optimizer(model.parameters(), torch::optim::AdamWOptions(o["lr"].as<double>())
                                                        .betas({o["betas"][0].as<double>(), o["betas"][1].as<double>()})
                                                        .weight_decay(o["weight_decay"].as<double>()));
  const auto rows = config["data"]["micro_batch_size"].as<int64_t>();
  const int64_t accumulation = config["data"]["target_batch_size"].as<int64_t>() / rows;
  int64_t next = 0;
  for (int64_t step = 1; step <= steps; ++step) {
    double total = 0;
    for (int64_t i = 0; i < accumulation; ++i) {
      std::vector<torch::Tensor> samples;
      for (int64_t row = 0; row < rows; ++row) samples.push_back(sample(config, sizes, next++));
      const torch::Tensor block = torch::stack(samples);
      const torch::Tensor loss = model.loss(block.narrow(1, 0, sizes.positions).contiguous(),
                                            block.narrow(1, 1, sizes.positions).contiguous()) /
                                 static_cast<double>(accumulation);
      loss.backward();
      total += loss.item<double>();
    }
    optimizer.step();
    optimizer.zero_grad();
    std::printf("train_step step=%lld loss=%.6g\n", static_cast<long long>(step), total);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || std::strcmp(argv[2], "--max-steps") != 0) {
    std::fprintf(stderr, "usage: stc-bench-libtorch CONFIG --max-steps N\n");
    return 2;
  }
  train(YAML::LoadFile(argv[1]), std::stoll(argv[3]));
  return 0;
}
