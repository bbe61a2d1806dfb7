// A checkpoint that a run cannot go on from is refused with every setting that differs.
#include <string>

#include <boost/test/unit_test.hpp>

#include "host/checkpoint/store.hpp"
#include "host/errors/error.hpp"
#include "tests/host/train/composed_run.hpp"

namespace stc::host {
namespace {

constexpr const char* kRun =
    "run: {device: cpu, max_steps: 1, threads: 1}\n"
    "model: {vocab_size: 64, max_seq_len: 8, n_layer: 1, n_head: 1, d_model: 8, d_ff: 8}\n"
    "data: {num_tokens: 8}\n"
    "optimizer: {name: adamw}\n"
    "checkpoint: {every_steps: 1}\n";

BOOST_AUTO_TEST_SUITE(restore_errors)

BOOST_AUTO_TEST_CASE(settings_that_differ_are_listed_with_what_can_be_done) {
  const stc::test::RunFolder folder;
  const std::unique_ptr<Run> run = stc::test::composed(folder, kRun, {}, ComposeMode::kTrain);
  run->trainer->fit();
  LoadedCheckpoint checkpoint = open_checkpoint((folder.path / "out" / "checkpoints").string());
  checkpoint.state["fingerprints"]["run"]["seed"] = 77;
  checkpoint.state["fingerprints"]["optimizer"]["name"] = "lion";
  BOOST_CHECK_EXCEPTION(run->trainer->restore(checkpoint, {}), CheckpointError, [&](const CheckpointError& error) {
    BOOST_TEST(error.what() == checkpoint.path +
                                   ": was made with other settings:"
                                   "\n    optimizer.name: checkpoint has \"lion\", this run has \"adamw\""
                                   "\n    run.seed: checkpoint has 77, this run has 1234");
    BOOST_TEST(error.hint() ==
               "run with the old settings, accept one with --allow optimizer.name, or start anew in another "
               "run.output_dir; step targets, learning rate, schedule, logging, checkpoint intervals, workers and "
               "batch sizes may change freely");
    return true;
  });
  run->trainer->restore(checkpoint, {"optimizer.name", "run.seed"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
