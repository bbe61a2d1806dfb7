// A process that restores again and again keeps one state, not one per time.
#include <fstream>
#include <map>
#include <string>

#include <ATen/core/Tensor.h>
#include <boost/test/unit_test.hpp>

#include "host/checkpoint/store.hpp"
#include "host/train/plugin_state.hpp"
#include "host/train/tensor_bridge.hpp"
#include "tests/host/train/composed_run.hpp"

namespace stc::host {
namespace {

constexpr const char* kRun =
    "run: {device: cpu, max_steps: 2, threads: 1}\n"
    "model: {vocab_size: 512, max_seq_len: 16, n_layer: 2, n_head: 4, d_model: 64, d_ff: 96}\n"
    "data: {num_tokens: 64}\n"
    "optimizer: {name: muon, lr: 0.001, cautious: true}\n"
    "checkpoint: {every_steps: 1}\n";

int64_t anonymous_kb() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "RssAnon:") continue;
    int64_t kb = 0;
    status >> kb;
    return kb;
  }
  BOOST_FAIL("/proc/self/status has no RssAnon");
  return 0;
}

std::map<std::string, at::Tensor> state_of(Optimizer& optimizer) {
  StateCollector collector;
  optimizer.state_save(collector.writer());
  std::map<std::string, at::Tensor> out;
  for (const HostTensor& tensor : collector.take_tensors()) out[tensor.name] = view_of_host(tensor).clone();
  return out;
}

BOOST_AUTO_TEST_SUITE(restore_cycles)

BOOST_AUTO_TEST_CASE(two_hundred_restores_take_no_memory_and_leave_one_state) {
  const stc::test::RunFolder folder;
  const std::unique_ptr<Run> run = stc::test::composed(folder, kRun, {}, ComposeMode::kTrain);
  run->trainer->fit();
  const std::map<std::string, at::Tensor> saved = state_of(*run->optimizer);
  BOOST_TEST_REQUIRE(saved.size() > 10u);
  const LoadedCheckpoint checkpoint = open_checkpoint((folder.path / "out" / "checkpoints").string());

  for (int i = 0; i < 20; ++i) run->trainer->restore(checkpoint);
  const int64_t before = anonymous_kb();
  for (int i = 0; i < 200; ++i) run->trainer->restore(checkpoint);
#ifndef __SANITIZE_ADDRESS__  // which holds freed memory back on purpose
  BOOST_CHECK_LE(anonymous_kb() - before, 1024);
#else
  BOOST_TEST_MESSAGE("memory not bounded: " << anonymous_kb() - before << " kB more under the address sanitizer");
#endif

  const std::map<std::string, at::Tensor> restored = state_of(*run->optimizer);
  BOOST_REQUIRE_EQUAL(restored.size(), saved.size());
  for (const auto& [name, tensor] : saved) {
    BOOST_CHECK_MESSAGE(restored.at(name).equal(tensor), name << " differs");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
