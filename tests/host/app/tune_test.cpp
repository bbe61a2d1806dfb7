/// \file
/// What `stc-host tune` tries, takes and writes, without runs.
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "host/app/edit_yaml.hpp"
#include "host/app/median.hpp"
#include "host/app/tune.hpp"
#include "host/app/tuned_file.hpp"
#include "host/errors/error.hpp"
#include "host/plugins/registry.hpp"
#include "stc/testing/folder.hpp"

namespace stc::host {
namespace {

namespace fs = std::filesystem;
using Texts = std::vector<std::string>;

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Texts texts(Lever lever, const TuneState& state, std::string* why_not = nullptr) {
  std::string reason;
  Texts out;
  for (const TuneCandidate& candidate : candidates_of(lever, state, reason)) out.push_back(candidate.text);
  BOOST_TEST(out.empty() == !reason.empty());
  if (why_not != nullptr) *why_not = reason;
  return out;
}

BOOST_AUTO_TEST_CASE(micro_batches_divide_the_target) {
  TuneState state;
  state.micro_batch = 4;
  state.target_batch = 24;
  BOOST_TEST(texts(Lever::kMicroBatch, state) == (Texts{"data.micro_batch_size: 8", "data.micro_batch_size: 24",
                                                        "data.micro_batch_size: 2", "data.micro_batch_size: 1"}),
             boost::test_tools::per_element());
  state.micro_batch = state.target_batch = 1;
  BOOST_TEST(texts(Lever::kMicroBatch, state).empty());
  state.micro_batch = 4;
  state.target_batch = 8;
  BOOST_TEST(texts(Lever::kMicroBatch, state).size() == 3u);  // 8, 2, 1
}

BOOST_AUTO_TEST_CASE(other_levers_depend_on_what_was_seen) {
  TuneState state;
  state.device = "cpu";
  state.precision = "fp32";
  state.cores = 8;
  state.threads = 8;
  BOOST_TEST(texts(Lever::kThreads, state) == (Texts{"run.threads: 4", "run.threads: 1"}),
             boost::test_tools::per_element());
  BOOST_TEST(texts(Lever::kPrecision, state) == (Texts{"precision.mode: bf16"}), boost::test_tools::per_element());
  BOOST_TEST(texts(Lever::kLoader, state).empty());
  BOOST_TEST(texts(Lever::kCheckpointing, state).empty());
  state.data_share = 0.2;
  state.workers = 2;
  state.over_memory = true;
  BOOST_TEST(texts(Lever::kLoader, state) == (Texts{"data.num_workers: 1", "data.num_workers: 4"}),
             boost::test_tools::per_element());
  BOOST_TEST(texts(Lever::kCheckpointing, state).size() == 1u);
  BOOST_TEST(texts(Lever::kFusedOptimizer, state).empty());
  BOOST_TEST(texts(Lever::kFastPath, state).empty());
  state.fused_optimizer = state.fused_path = false;
  BOOST_TEST(texts(Lever::kFusedOptimizer, state) == (Texts{"optimizer.fused: null"}),
             boost::test_tools::per_element());
  state.fast_path_off = true;
  BOOST_TEST(texts(Lever::kFastPath, state) == (Texts{"run.fast_path: auto"}), boost::test_tools::per_element());
  state.fast_path_off = false;
  state.no_fused_path = "model m has no fused pass";
  std::string no_path;
  BOOST_TEST(texts(Lever::kFastPath, state, &no_path).empty());
  BOOST_TEST(no_path == "fast path: model m has no fused pass");
  state.precision = "bf16";
  state.device = "cuda:0";
  std::string why_not;
  BOOST_TEST(texts(Lever::kThreads, state, &why_not).empty());
  BOOST_TEST(why_not == "threads: the device does the work");
  BOOST_TEST(texts(Lever::kPrecision, state).empty());
}

BOOST_AUTO_TEST_CASE(a_change_is_taken_when_every_pair_gains_and_the_loss_is_near) {
  std::string verdict;
  const auto taken = [&](std::vector<double> gains, double distance, bool fits = true, bool saves = false) {
    TuneResult result;
    result.gains = std::move(gains);
    result.distance = distance;
    result.fits = fits;
    return is_taken(result, 0.01, saves, verdict);
  };
  BOOST_TEST(taken({1.1, 1.05, 1.2}, 0.001));
  BOOST_TEST(!taken({1.1, 0.99, 1.2}, 0.001));
  BOOST_TEST(verdict == "no gain outside the noise");
  BOOST_TEST(!taken({1.01, 1.012, 1.3}, 0.001));
  BOOST_TEST(!taken({2.0, 2.0, 2.0}, 0.02));
  BOOST_TEST(verdict == "the loss is too far from fp32");
  BOOST_TEST(!taken({2.0, 2.0, 2.0}, std::numeric_limits<double>::infinity()));
  BOOST_TEST(!taken({2.0, 2.0, 2.0}, std::nan("")));
  BOOST_TEST(!taken({2.0, 2.0, 2.0}, 0.0, /*fits=*/false));
  BOOST_TEST(taken({0.8, 0.8}, 0.0, true, /*saves=*/true));
  TuneResult failed;
  failed.failure = "out of memory";
  BOOST_TEST(!is_taken(failed, 0.01, false, verdict));
  BOOST_TEST(verdict == "fails: out of memory");
}

BOOST_AUTO_TEST_CASE(the_distance_of_losses_is_relative_and_sees_nan) {
  BOOST_TEST(loss_distance({2.0, 4.04, 9.0}, {2.0, 4.0}) == 0.01, boost::test_tools::tolerance(1e-9));
  BOOST_TEST(std::isinf(loss_distance({2.0, std::nan("")}, {2.0, 4.0})));
  BOOST_TEST(loss_distance({}, {1.0}) == 0.0);
  BOOST_TEST(median({3.0, 1.0, 2.0}) == 2.0);
  BOOST_TEST(median({4.0, 1.0, 2.0, 3.0}) == 2.5);
}

BOOST_AUTO_TEST_CASE(the_written_file_keeps_the_users_keys) {
  const std::string text =
      "run: {seed: 7}\ndata:\n  text_path: a.txt\n  micro_batch_size: 2\noptimizer: {betas: [0.9, 0.95]}\n";
  const std::string tuned =
      tuned_yaml(text, {{"data.micro_batch_size", "8"}, {"precision.mode", "bf16"}}, {"first", "second"});
  BOOST_TEST(tuned ==
             "# first\n# second\n\nrun: {seed: 7}\ndata:\n  text_path: a.txt\n  micro_batch_size: 8  # tuned\n"
             "optimizer: {betas: [0.9, 0.95]}\nprecision:\n  mode: bf16  # tuned\n");
  BOOST_TEST(tuned_yaml("{\"run\": {\"name\": \"123\", \"tags\": [\"1\", 2]}, \"data\": {\"micro_batch_size\": 2}}",
                        {{"data.micro_batch_size", "8"}}, {"first"}) ==
             "# first\n\nrun:\n  name: \"123\"\n  tags: [\"1\", 2]\ndata:\n  micro_batch_size: 8  # tuned\n");
  BOOST_TEST(tuned_yaml("base: &b\n  threads: 2\nrun: *b\n", {{"run.threads", "1"}}, {}) ==
             "base:\n  threads: 2\nrun:\n  threads: 1  # tuned\n");
  BOOST_TEST(tuned_yaml("", {{"run.threads", "1"}}, {}) == "run:\n  threads: 1  # tuned\n");
  BOOST_CHECK_EXCEPTION(tuned_yaml("[1]", {}, {}), ConfigError, [](const ConfigError& error) {
    return std::string(error.what()).starts_with("the file is no mapping");
  });
}

BOOST_AUTO_TEST_CASE(the_text_keeps_what_is_not_changed) {
  const std::string text =
      "# my run\n"
      "run:\n"
      "    # of the night\n"
      "    seed: 7   # lucky\n"
      "    name: \"a # b\"\n"
      "data: {text_path: 'it''s.txt', micro_batch_size: 2}  # small\n"
      "model:\n"
      "  n_layer: 2\n";
  const auto edited = edit_yaml(text, {{"data.micro_batch_size", "8"},
                                       {"data.num_workers", "2"},
                                       {"run.seed", "8"},
                                       {"run.threads", "1"},
                                       {"run.name", "c"},
                                       {"precision.mode", "bf16"}});
  BOOST_REQUIRE(edited);
  BOOST_TEST(*edited ==
             "# my run\n"
             "run:\n"
             "    # of the night\n"
             "    threads: 1  # tuned\n"
             "    seed: 8   # tuned; lucky\n"
             "    name: c  # tuned\n"
             "data: {num_workers: 2, text_path: 'it''s.txt', micro_batch_size: 8}  # tuned; small\n"
             "model:\n"
             "  n_layer: 2\n"
             "precision:\n"
             "  mode: bf16  # tuned\n");
}

BOOST_AUTO_TEST_CASE(what_the_text_alone_cannot_take_is_left_to_others) {
  const KeyValues changes = {{"data.micro_batch_size", "8"}};
  for (const char* text : {
           "",                                                                // nothing to edit
           "{data: {micro_batch_size: 2}}\n",                                 // one flow mapping
           "data: &d {micro_batch_size: 2}\neval: *d\n",                      // would change both
           "base: &d\n  micro_batch_size: 2\ndata: *d\n",                     // the same
           "data:\n",                                                         // an empty section
           "data:\n  micro_batch_size: &n 2\nlogging:\n  every_steps: *n\n",  // an anchor
           "data:\n  micro_batch_size: |\n    2\n  num_workers: 1\n",         // a value of several lines
           "data:\n  micro_batch_size: [1,\n    2]\n",                        // a list
       }) {
    BOOST_TEST(edit_yaml(text, changes).value_or("left") == "left");
  }
  BOOST_TEST(edit_yaml("data:\n  num_workers: 1", changes).value_or("") ==
             "data:\n  micro_batch_size: 8  # tuned\n  num_workers: 1");
  BOOST_TEST(edit_yaml("data:\n  micro_batch_size:\n    2\n...\n", changes).value_or("") ==
             "data:\n  micro_batch_size:\n    8  # tuned\n...\n");
  BOOST_TEST(edit_yaml("run:\r\n  seed: 1\r\n", {{"run.seed", "2"}}).value_or("") == "run:\r\n  seed: 2  # tuned\r\n");
  BOOST_TEST(edit_yaml("run:\n  seed: 1\n", {{"run.name", "a: b"}}).has_value() == false);
  BOOST_TEST(edit_yaml("\xEF\xBB\xBFrun:\n  seed: 1\n", {{"run.seed", "2"}}).value_or("") ==
             "run:\n  seed: 2  # tuned\n");
}

/// A run file, and where its tuned one goes.
struct RunFile {
  RunFile() {
    arguments.file = folder.path() / "run.yaml";
    std::ofstream(arguments.file) << "data: {micro_batch_size: 2}\n";
  }
  const stc::testing::Folder folder;
  const std::string path = (folder.path() / "run.tuned.yaml").string();
  TuneArguments arguments;
  Registry registry{{}};
};

BOOST_FIXTURE_TEST_CASE(what_the_user_edits_meanwhile_does_not_mix_in, RunFile) {
  TunedFile file(arguments, path, registry);
  std::ofstream(arguments.file) << "data: {micro_batch_size: 16}\n";
  BOOST_TEST(file.text() == "data: {micro_batch_size: 2}\n");
}

BOOST_FIXTURE_TEST_CASE(a_pipe_cannot_be_tuned, RunFile) {
  arguments.file = "/dev/null";
  BOOST_CHECK_EXCEPTION(TunedFile(arguments, path, registry), Error, [](const Error& error) {
    return std::string(error.what()) == "tune: /dev/null: is no regular file" &&
           error.hint() == "tune reads it more than once: save it first";
  });
}

BOOST_FIXTURE_TEST_CASE(the_file_is_written_whole_and_replaces_no_other, RunFile) {
  TunedFile file(arguments, path, registry);
  BOOST_TEST(!fs::exists(path));
  std::ofstream(path) << "mine\n";  // by another, while it tries
  BOOST_CHECK_EXCEPTION(file.write({{"run.threads", "1"}}, {}), Error, [&](const Error& error) {
    return std::string(error.what()) == "tune: the changes cannot be written: " + path + ": is there now" &&
           error.hint() == "the same by flags: stc-host run FILE --set run.threads=1";
  });
  BOOST_TEST(!file.written());
  BOOST_TEST(text_of(path) == "mine\n");
  BOOST_TEST(std::distance(fs::directory_iterator(folder.path()), {}) == 2);
}

}  // namespace
}  // namespace stc::host
