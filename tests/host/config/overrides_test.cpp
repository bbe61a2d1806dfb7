// --set and the four flags.

#include <ostream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "host/config/explain.hpp"
#include "tests/host/config/fake_catalog.hpp"

namespace stc::host::test {

struct SetCase {
  std::string set;
  std::string path;
  std::string json;
};
std::ostream& operator<<(std::ostream& out, const SetCase& sample) { return out << sample.set; }

struct BadSetCase {
  std::string set;
  std::string rendered;
};
std::ostream& operator<<(std::ostream& out, const BadSetCase& sample) { return out << sample.set; }

const std::vector<SetCase> kSets{
    {"optimizer.lr=0.01", "optimizer.lr", "0.01"},
    {"optimizer.lr=1e-4", "optimizer.lr", "0.0001"},
    {" optimizer.lr = 0.01 ", "optimizer.lr", "0.01"},
    {"optimizer.betas=[0.8, 0.9]", "optimizer.betas", "[0.8,0.9]"},
    {"run.name=a b=c: d # e", "run.name", "\"a b=c: d # e\""},
    {"run.name=\"yes\"", "run.name", "\"yes\""},
    {"run.name=''", "run.name", "\"\""},
    {"max_steps=300", "run.max_steps", "300"},
    {"seed=9007199254740993", "run.seed", "9007199254740993"},
    {"hub.inner_steps=3", "distributed.inner_steps", "3"},
    {"diloco.inner_steps=3", "distributed.inner_steps", "3"},
    {"precision=fp32", "precision.mode", "\"fp32\""},
    {"optimizer=adamw", "optimizer.name", "\"adamw\""},
    {"cautious=true", "optimizer.cautious", "true"},
    {"compile=true", "compile", "true"},
    {"compile.enabled=true", "compile", "true"},
    {"gradient_checkpointing=on", "gradient_checkpointing", "true"},
    {"checkpoint.keep_last=null", "checkpoint.keep_last", "null"},
    {"checkpoint.every_steps=null", "checkpoint.every_steps", "500"},
    {"logging.sinks=[{name: csv, path: a.csv}]", "logging.sinks[0].path", "\"a.csv\""},
    {"data.text_path=x=y.txt", "data.text_path", "\"x=y.txt\""},
    {"plugins.path=[here]", "plugins.path", "[\"here\"]"},
};

const std::vector<BadSetCase> kBadSets{
    {"optimizer.lr",
     "error: --set optimizer.lr: has no value, expected key=value\n  at --set optimizer.lr\n"
     "  hint: write --set optimizer.lr=<value>\n"},
    {"optimizer.lr=",
     "error: --set optimizer.lr: has no value, expected key=value\n  at --set optimizer.lr\n"
     "  hint: write null for the default\n"},
    {"optimizer.lr=abc", "error: optimizer.lr: got abc, expected a number > 0\n  at --set optimizer.lr\n"},
    {"optimizer.lr=-1", "error: optimizer.lr: got -1, expected > 0\n  at --set optimizer.lr\n"},
    {"optimizer.lr=\"0.1\"", "error: optimizer.lr: got \"0.1\", expected a number > 0\n  at --set optimizer.lr"},
    {"optimizer.warmup=1", "error: optimizer.warmup: unknown key\n  at --set optimizer.warmup\n"},
    {"bogus.key=1", "error: bogus: unknown key\n  at --set bogus.key\n"},
    {"bogus=1", "error: bogus: unknown key\n  at --set bogus\n"},
    {"=1", "error: : unknown key\n"},
    {".lr=1", "error: : unknown key\n"},
    {"model={}",
     "error: --set model: names a section, expected one of its keys\n  at --set model\n"
     "  hint: write --set model.<key>=<value>\n"},
    {"optimizer={lr: 0.5}",
     "error: --set optimizer: names a section, expected one of its keys\n  at --set optimizer\n"
     "  hint: write --set optimizer.<key>=<value>\n"},
    {"precision={}", "error: --set precision: names a section, expected one of its keys\n"},
    {"hub={token: geheim}", "error: --set hub: names a section, expected one of its keys\n"},
    {"run.seed=010", "error: --set run.seed: got 010, which is ambiguous: "},
    {"optimizer.betas=[0.9", "error: --set optimizer.betas: the bracket opened here is not closed\n"},
    {"distributed.token=hf_geheim",
     "error: --set distributed.token: a secret cannot be given on the command line\n  at --set "
     "distributed.token\n"
     "  hint: every user of the machine can read it there; use the environment or the file\n"},
    {"hub.token=hf_geheim", "error: --set hub.token: a secret cannot be given on the command line\n"},
    {"logging.sinks=[{name: csv, api_key: geheim}]",
     "error: --set logging.sinks: a secret cannot be given on the command line\n  at --set "
     "logging.sinks\n"},
};

BOOST_AUTO_TEST_SUITE(overrides)

BOOST_DATA_TEST_CASE(are_typed, kSets, sample) {
  BOOST_TEST(load("", with_sets({sample.set})).at(sample.path).dump() == sample.json);
}

BOOST_DATA_TEST_CASE(are_refused, kBadSets, sample) {
  std::string rendered = error_of("", with_sets({sample.set}));
  BOOST_TEST(rendered.substr(0, sample.rendered.size()) == sample.rendered);
  BOOST_TEST(!contains(rendered, "geheim"));
}

BOOST_AUTO_TEST_CASE(beat_the_file_and_its_aliases) {
  Config config = load("max_steps: 500\nrun: {max_steps: 400}\noptimizer: {lr: 0.5}\n",
                       with_sets({"run.max_steps=300", "optimizer.lr=0.01"}));
  BOOST_TEST(config.at("run.max_steps") == 300);
  BOOST_TEST(config.at("optimizer.lr") == 0.01);
}

BOOST_AUTO_TEST_CASE(twice_is_an_error_in_any_spelling) {
  BOOST_TEST(error_of("", with_sets({"optimizer.lr=0.1", "optimizer.lr=0.1"})) ==
             "error: optimizer.lr: given twice on the command line, by --set optimizer.lr and by --set "
             "optimizer.lr\n  at --set optimizer.lr\n  hint: keep one of the two\n");
  BOOST_TEST(contains(error_of("", with_sets({"max_steps=5", "run.max_steps=5"})), "given twice"));
  LoadRequest request = with_sets({"run.device=cpu"});
  request.device = "cpu";
  BOOST_TEST(contains(error_of("", request), "by --set run.device and by --device"));
}

BOOST_AUTO_TEST_CASE(a_wrong_one_spoils_the_right_ones) {
  BOOST_TEST(error_of("", with_sets({"optimizer.lr=0.1", "bogus.key=1"})) != "");
}

BOOST_AUTO_TEST_CASE(flags_stand_for_keys) {
  LoadRequest request;
  request.resume = true;
  request.device = "cpu";
  request.max_steps = 250;
  request.output_dir = "elsewhere";
  Config config = load("run: {device: cuda, max_steps: 5000}\n", request);
  BOOST_TEST(config.at("checkpoint.resume") == true);
  BOOST_TEST(config.at("run.device") == "cpu");
  BOOST_TEST(config.at("run.max_steps") == 250);
  BOOST_TEST(config.at("scheduler.max_steps") == 250);
  BOOST_TEST(config.at("run.output_dir") == "elsewhere");
  for (const KeyInfo& key : config.keys()) {
    if (key.path == "run.device") BOOST_TEST(origin_text(key.origin) == "--device");
    if (key.path == "scheduler.max_steps") BOOST_TEST(origin_text(key.origin) == "--max-steps");
  }
}

BOOST_AUTO_TEST_CASE(flags_are_checked) {
  LoadRequest request;
  request.max_steps = 0;
  BOOST_TEST(error_of("", request) == "error: run.max_steps: got 0, expected > 0\n  at --max-steps\n");
  LoadRequest device;
  device.device = "tpu";
  BOOST_TEST(contains(error_of("", device), "run.device: got \"tpu\", expected auto, cpu"));
  LoadRequest nowhere;
  nowhere.output_dir = "";
  BOOST_TEST(error_of("", nowhere) ==
             "error: run.output_dir: is empty, expected a folder\n  at --output-dir\n"
             "  hint: write . for the working directory\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host::test
