// The llm.c side of tools/bench/compare: llm.c's own CPU functions on a GPT-2 of a given shape, without its data files.
//
// Built by compare against a checkout that the user names: cc -I CHECKOUT, with the flags of llm.c's Makefile.
//
//     stc-bench-llm-c LAYERS CHANNELS HEADS VOCAB POSITIONS MICRO_BATCH MICRO_BATCHES STEPS LR BETA1 BETA2 WEIGHT_DECAY
//
// Random weights and random tokens; prints `train_step step=<n> loss=<x>` after every step. The gradients of a step's
// micro-batches are summed, not averaged: AdamW does not depend on their scale.
#define TESTING  // leaves out llm.c's own main
#include "train_gpt2.c"

static float normal(uint64_t* state) {
  float sum = 0;
  for (int i = 0; i < 12; ++i) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    sum += (float)(*state >> 40) / (float)(1 << 24);
  }
  return sum - 6;  // Irwin-Hall of 12: mean 0, variance 1
}

static void build(GPT2* model, char** shape) {
  memset(model, 0, sizeof *model);
  model->config.num_layers = atoi(shape[0]);
  model->config.channels = atoi(shape[1]);
  model->config.num_heads = atoi(shape[2]);
  model->config.vocab_size = atoi(shape[3]);
  model->config.padded_vocab_size = (model->config.vocab_size + 127) / 128 * 128;
  model->config.max_seq_len = atoi(shape[4]);
  fill_in_parameter_sizes(model->param_sizes, model->config);
  for (int i = 0; i < NUM_PARAMETER_TENSORS; ++i) model->num_parameters += model->param_sizes[i];
  model->params_memory = malloc_and_point_parameters(&model->params, model->param_sizes);
  uint64_t state = 1234;
  for (size_t i = 0; i < model->num_parameters; ++i) model->params_memory[i] = 0.02f * normal(&state);
  float* scales[] = {model->params.ln1w, model->params.ln2w, model->params.lnfw};
  size_t counts[] = {model->config.num_layers, model->config.num_layers, 1};
  for (int i = 0; i < 3; ++i) {
    for (size_t k = 0; k < counts[i] * model->config.channels; ++k) scales[i][k] = 1;
  }
}

static void fill(int* tokens, int count, int vocab, uint64_t* state) {
  for (int i = 0; i < count; ++i) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    tokens[i] = (int)((*state >> 33) % (uint64_t)vocab);
  }
}

int main(int argc, char** argv) {
  if (argc != 13) {
    fprintf(stderr, "usage: %s LAYERS CHANNELS HEADS VOCAB POSITIONS MICRO_BATCH MICRO_BATCHES STEPS LR BETA1 BETA2 WEIGHT_DECAY\n",
            argv[0]);
    return 2;
  }
  GPT2 model;
  build(&model, argv + 1);
  const int T = atoi(argv[5]), B = atoi(argv[6]), micro_batches = atoi(argv[7]), steps = atoi(argv[8]);
  int* inputs = malloc(sizeof(int) * B * T);
  int* targets = malloc(sizeof(int) * B * T);
  uint64_t state = 1;
  for (int step = 1; step <= steps; ++step) {
    float loss = 0;
    for (int micro = 0; micro < micro_batches; ++micro) {
      fill(inputs, B * T, model.config.vocab_size, &state);
      fill(targets, B * T, model.config.vocab_size, &state);
      gpt2_forward(&model, inputs, targets, B, T);
      if (micro == 0) {
        gpt2_zero_grad(&model);
      } else {  // gradients of activations are added to as well, and are not carried over
        memset(model.grads_acts_memory, 0, model.num_activations * sizeof(float));
      }
      gpt2_backward(&model);
      loss += model.mean_loss / micro_batches;
    }
    gpt2_update(&model, atof(argv[9]), atof(argv[10]), atof(argv[11]), 1e-8f, atof(argv[12]), step);
    printf("train_step step=%d loss=%.6g\n", step, loss);
    fflush(stdout);
  }
  gpt2_free(&model);
  free(inputs);
  free(targets);
  return 0;
}
