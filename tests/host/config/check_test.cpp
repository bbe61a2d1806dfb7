// Every error of a single key, as the user sees it.

#include <ostream>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/host/config/fake_catalog.hpp"

namespace stc::host::test {

struct ErrorCase {
  std::string yaml;
  std::string rendered;
};
std::ostream& operator<<(std::ostream& out, const ErrorCase& sample) { return out << sample.yaml; }

struct GoodCase {
  std::string yaml;
  std::string path;
  std::string json;
};
std::ostream& operator<<(std::ostream& out, const GoodCase& sample) { return out << sample.yaml; }

const std::vector<ErrorCase> kErrors{
    {"optimizer:\n  lr: -0.1\n", "error: optimizer.lr: got -0.1, expected > 0\n  at run.yaml:2:7\n"},
    {"optimizer: {lr: 0}\n", "error: optimizer.lr: got 0, expected > 0\n  at run.yaml:1:17\n"},
    {"optimizer: {lr: .nan}\n", "error: optimizer.lr: got .nan, expected a finite number > 0\n  at run.yaml:1:17\n"},
    {"optimizer: {lr: .inf}\n", "error: optimizer.lr: got .inf, expected a finite number > 0\n  at run.yaml:1:17\n"},
    {"optimizer: {lr: 1e400}\n",
     "error: optimizer.lr: got 1e400, expected a number in the range of a double\n  at "
     "run.yaml:1:17\n"},
    {"optimizer: {lr: \"0.1\"}\n",
     "error: optimizer.lr: got \"0.1\", expected a number > 0\n  at run.yaml:1:17\n  hint: remove "
     "the quotes\n"},
    {"optimizer: {lr: abc}\n", "error: optimizer.lr: got abc, expected a number > 0\n  at run.yaml:1:17\n"},
    {"optimizer: {lr: [1, 2]}\n", "error: optimizer.lr: got [1, 2], expected a number > 0\n  at run.yaml:1:17\n"},
    {"optimizer:\n  lr: 0,1\n", "error: optimizer.lr: got 0,1, expected a number > 0\n  at run.yaml:2:7\n"},
    {"optimizer: {zzzzzzzzzz: 1}\n",
     "error: optimizer.zzzzzzzzzz: unknown key\n  at run.yaml:1:13\n  hint: known keys of "
     "optimizer are name, lr, "},
    {"optimizer: {weigth_decay: 0.1}\n",
     "error: optimizer.weigth_decay: unknown key\n  at run.yaml:1:13\n  hint: nearest key is "
     "optimizer.weight_decay\n"},
    {"run: {lr: 0.1}\n", "error: run.lr: unknown key\n  at run.yaml:1:7\n  hint: nearest key is optimizer.lr\n"},
    {"lr: 0.1\n", "error: lr: unknown key\n  at run.yaml:1:1\n  hint: nearest key is optimizer.lr\n"},
    {"optimizer.lr: 0.1\n",
     "error: optimizer.lr: unknown key\n  at run.yaml:1:1\n  hint: write it nested: optimizer: "
     "{lr: ...}\n"},
    {"optimiser: {lr: 0.1}\n", "error: optimiser: unknown key\n  at run.yaml:1:1\n  hint: nearest key is optimizer\n"},
    {"zzzzzzzzzz: 1\n", "error: zzzzzzzzzz: unknown key\n  at run.yaml:1:1\n  hint: known keys are run, model, "},
    {"run: {max_steps: -1}\n", "error: run.max_steps: got -1, expected > 0\n  at run.yaml:1:18\n"},
    {"run: {max_steps: 0}\n", "error: run.max_steps: got 0, expected > 0\n  at run.yaml:1:18\n"},
    {"run: {max_steps: 10.0}\n",
     "error: run.max_steps: got 10.0, expected an integer > 0\n  at run.yaml:1:18\n"
     "  hint: write a whole number without a point or exponent\n"},
    {"run: {max_steps: 99999999999999999999}\n",
     "error: run.max_steps: got 99999999999999999999, expected an integer of 64 bits\n  at run.yaml:1:18\n"},
    {"run: {seed: 99999999999999999999}\n",
     "error: run.seed: got 99999999999999999999, expected an integer of 64 bits\n  at "
     "run.yaml:1:13\n"},
    {"run: {seed: 1.5}\n", "error: run.seed: got 1.5, expected an integer\n  at run.yaml:1:13\n"},
    {"checkpoint: {keep_last: -1}\n", "error: checkpoint.keep_last: got -1, expected > 0\n  at run.yaml:1:25\n"},
    {"data: {num_workers: -1}\n", "error: data.num_workers: got -1, expected in [0, 1024]\n  at run.yaml:1:21\n"},
    {"model: {vocab_size: 99999999999999999999}\n",
     "error: model.vocab_size: got 99999999999999999999, expected in [1, 2147483647]\n  at "
     "run.yaml:1:21\n"},
    {"model: {vocab_size: 2147483648}\n",
     "error: model.vocab_size: got 2147483648, expected in [1, 2147483647]\n  at run.yaml:1:21\n"},
    {"model: {tie_weights: \"false\"}\n",
     "error: model.tie_weights: got \"false\", expected true or false\n  at run.yaml:1:22\n  hint: "
     "remove the quotes\n"},
    {"data: {shuffle: 1}\n", "error: data.shuffle: got 1, expected true or false\n  at run.yaml:1:17\n"},
    {"data: {shuffle: y}\n", "error: data.shuffle: got y, expected true or false\n  at run.yaml:1:17\n"},
    {"run: {name: yes}\n",
     "error: run.name: got yes, expected a string\n  at run.yaml:1:13\n  hint: quote it: unquoted "
     "it is a boolean\n"},
    {"run: {output_dir: [a]}\n", "error: run.output_dir: got [a], expected a path\n  at run.yaml:1:19\n"},
    {"run: {device: gpu}\n",
     "error: run.device: got gpu, expected auto, cpu, cuda, cuda:<n> or mps\n  at run.yaml:1:15\n"},
    {"run: {device: 'cuda:'}\n",
     "error: run.device: got \"cuda:\", expected auto, cpu, cuda, cuda:<n> or mps\n  at "
     "run.yaml:1:15\n"},
    {"scheduler: {name: cosin}\n",
     "error: scheduler.name: got cosin, expected cosine, constant, linear, inverse_sqrt, wsd or "
     "cosine_with_restarts\n"
     "  at run.yaml:1:19\n  hint: nearest is cosine\n"},
    {"scheduler: {min_lr_ratio: 1.5}\n",
     "error: scheduler.min_lr_ratio: got 1.5, expected in [0, 1]\n  at run.yaml:1:27\n"},
    {"precision: {dtype: auto}\n",
     "error: precision.dtype: got auto, expected bf16, fp16 or fp32\n  at run.yaml:1:20\n"},
    {"optimizer: {betas: [0.9, 1.0]}\n",
     "error: optimizer.betas[1]: got 1.0, expected in [0, 1)\n  at run.yaml:1:26\n"},
    {"optimizer: {betas: 0.9}\n",
     "error: optimizer.betas: got 0.9, expected a list of numbers in [0, 1)\n  at run.yaml:1:20\n"},
    {"optimizer: {betas: [0.9]}\n",
     "error: optimizer.betas: got [0.9], expected a list of 2 numbers in [0, 1)\n  at "
     "run.yaml:1:20\n"},
    {"optimizer: {betas: [0.9, null]}\n",
     "error: optimizer.betas[1]: got null, expected a number in [0, 1)\n  at run.yaml:1:26\n"},
    {"ooo_streams: 9\n", "error: ooo_streams: got 9, expected in [1, 8]\n  at run.yaml:1:14\n"},
    {"compile: {enable: true}\n",
     "error: compile.enable: unknown key\n  at run.yaml:1:11\n  hint: nearest key is "
     "compile.enabled\n"},
    {"compile: 1\n", "error: compile: got 1, expected true or false\n  at run.yaml:1:10\n"},
    {"checkpoint: {resume: yess}\n",
     "error: checkpoint.resume: got yess, expected true, false or auto\n  at run.yaml:1:22\n"},
    {"shape_validation: {alignment: 0}\n",
     "error: shape_validation.alignment: got 0, expected > 0\n  at run.yaml:1:31\n"},
    {"shape_validation: {alignment: big}\n",
     "error: shape_validation.alignment: got big, expected an integer > 0, auto or none\n  at "
     "run.yaml:1:31\n"},
    {"logging: {level: debg}\n",
     "error: logging.level: got debg, expected DEBUG, INFO, WARNING, ERROR, CRITICAL, WARN, FATAL "
     "or NOTSET\n  at run.yaml:1:18\n  hint: nearest is DEBUG\n"},
    {"checkpoint: {resume: maybe}\n",
     "error: checkpoint.resume: got maybe, expected true, false or auto\n  at run.yaml:1:22\n"},
    {"run: {threads: many}\n", "error: run.threads: got many, expected an integer in [1, 4096] or auto"},
    {"run: {max_steps: !!str 3}\n",
     "error: run.max_steps: got \"3\", expected an integer > 0\n  at run.yaml:1:18\n"
     "  hint: remove the tag !!str\n"},
    {"run: {max_steps: 9223372036854775808}\n",
     "error: run.max_steps: got 9223372036854775808, expected an integer of 64 bits"},
    {"run: {max_steps: -99999999999999999999}\n", "error: run.max_steps: got -99999999999999999999, expected > 0"},
    {"run: {threads: 99999999999999999999}\n", "error: run.threads: got 99999999999999999999, expected in [1, 4096]"},
    {"run: {output_dir: ''}\n",
     "error: run.output_dir: is empty, expected a folder\n  at run.yaml:1:19\n"
     "  hint: write . for the working directory\n"},
    {"run: {threads: 0}\n", "error: run.threads: got 0, expected in [1, 4096]\n  at run.yaml:1:16\n"},
    {"run: {fast_path: no}\n", "error: run.fast_path: got no, expected auto, off or require\n  at run.yaml:1:18\n"},
    {"optimizer: {name: Up/My.so}\n", "error: optimizer.name: optimizer plugin Up/My.so not found, "},
    {"optimizer: ' My.so '\n", "error: optimizer.name: optimizer plugin My.so not found, "},
    {"precision: {mode: ./Mine.so}\n", "error: precision.mode: precision plugin ./Mine.so not found, "},
    {"distributed: {mode: Up/Mine.so}\n", "error: distributed.mode: coordinator plugin Up/Mine.so not found, "},
    {"distributed: {backend: Up/Mine.so}\n", "error: distributed.backend: sync plugin Up/Mine.so not found, "},
    {"logging: {level: loud}\n",
     "error: logging.level: got loud, expected DEBUG, INFO, WARNING, ERROR, CRITICAL, WARN, FATAL "
     "or NOTSET\n  at run.yaml:1:18\n"},
    {"distributed: {node_id: ../x}\n",
     "error: distributed.node_id: got ../x, expected a name that is not empty, not . or .., and "
     "has no / or \\\n  at run.yaml:1:24\n"},
    {"distributed: {node_id: ' '}\n",
     "error: distributed.node_id: got \" \", expected a name that is not empty, not . or .., and "
     "has no / or \\\n  at run.yaml:1:24\n"},
    {"distributed: {collaborators: [a, ' ']}\n",
     "error: distributed.collaborators[1]: got \" \", expected a user name\n  at run.yaml:1:34\n"},
    {"distributed: {collaborators: bob}\n",
     "error: distributed.collaborators: got bob, expected a list of strings\n  at run.yaml:1:30\n"},
    {"distributed: {token: [s3cret]}\n",
     "error: distributed.token: got <redacted>, expected a string\n  at run.yaml:1:22\n"},
    {"distributed: {delta_upload_queue_size: 2}\n",
     "error: distributed.delta_upload_queue_size: got 2, expected exactly 1\n  at run.yaml:1:40\n"},
    {"distributed: {delta_upload_overflow: block}\n",
     "error: distributed.delta_upload_overflow: got block, expected skip\n  at run.yaml:1:38\n"},
    {"distributed: {poll_interval: 0}\n",
     "error: distributed.poll_interval: got 0, expected > 0\n  at run.yaml:1:30\n"},
    {"ema: {decay: 0.9, evry: 2}\n",
     "error: ema.evry: unknown key\n  at run.yaml:1:19\n  hint: nearest key is ema.every\n"},
    {"ema: 0.9\n", "error: ema: got 0.9, expected a mapping with the keys decay or every\n  at run.yaml:1:6\n"},
    {"ema: {decay: 1}\n", "error: ema.decay: got 1, expected in (0, 1)\n  at run.yaml:1:14\n"},
    {"ema: {decay: 0.9, every: 0}\n", "error: ema.every: got 0, expected > 0\n  at run.yaml:1:26\n"},
    {"ema: {every: 2}\n",
     "error: ema.decay: missing, expected a number in (0, 1)\n  at run.yaml:1:6\n  hint: weight of "
     "the past\n"},
    {"early_stop: {patience: 0}\n", "error: early_stop.patience: got 0, expected > 0\n  at run.yaml:1:24\n"},
    {"early_stop: {patience: 2, min_delta: -1}\n",
     "error: early_stop.min_delta: got -1, expected >= 0\n  at run.yaml:1:38\n"},
    {"early_stop: {patience: null}\n",
     "error: early_stop.patience: missing, expected an integer > 0\n  at run.yaml:1:13\n  hint: "
     "evaluations without improvement\n"},
    {"run: {max_time: 0}\n", "error: run.max_time: got 0, expected > 0\n  at run.yaml:1:17\n"},
    {"run: {eval_every: 0}\n", "error: run.eval_every: got 0, expected > 0\n  at run.yaml:1:19\n"},
    {"data: {validation_path: {}}\n",
     "error: data.validation_path: got {}, expected at least one name with its path\n  at "
     "run.yaml:1:25\n"},
    {"data: {validation_path: {'': a}}\n",
     "error: data.validation_path: got a name that is empty\n  at run.yaml:1:26\n"},
    {"early_stop: {patience: 2}\nrun: {eval_every: 2}\n",
     "error: early_stop: needs data.validation_path, which is null\n  at run.yaml:1:13\n  hint: early "
     "stop watches evaluations: set data.validation_path and run.eval_every\n"},
    {"early_stop: {patience: 2}\ndata: {validation_path: v.txt}\n",
     "error: early_stop: needs run.eval_every, which is null\n  at run.yaml:1:13\n  hint: early "
     "stop watches evaluations: set data.validation_path and run.eval_every\n"},
    {"data: {validation_path: [a]}\n",
     "error: data.validation_path: got [a], expected a path or a mapping of names to paths\n  at "
     "run.yaml:1:25\n"},
    {"optimizer: {groups: {match: x}}\n",
     "error: optimizer.groups: got {match: x}, expected a list of mappings\n  at run.yaml:1:21\n"},
    {"optimizer: {groups: [{lr: 1}]}\n",
     "error: optimizer.groups[0].match: missing, expected a pattern of parameter names such as *.wte.*\n"
     "  at run.yaml:1:22\n"},
    {"optimizer: {groups: [{match: x, lr: 0}]}\n",
     "error: optimizer.groups[0].lr: got 0, expected > 0\n  at run.yaml:1:37\n"},
    {"optimizer: {groups: [{match: x, weight_decay: -1}]}\n",
     "error: optimizer.groups[0].weight_decay: got -1, expected >= 0\n  at run.yaml:1:47\n"},
    {"optimizer: {groups: [{match: x, rate: 1}]}\n",
     "error: optimizer.groups[0].rate: unknown key\n  at run.yaml:1:33\n  hint: known keys are "
     "match, lr, weight_decay\n"},
    {"model: 5\n", "error: model: got 5, expected a mapping of keys\n  at run.yaml:1:8\n"},
    {"model: [a]\n", "error: model: got [a], expected a mapping of keys\n  at run.yaml:1:8\n"},
    {"plugins: {path: somewhere}\n",
     "error: plugins.path: got somewhere, expected a list of strings\n  at run.yaml:1:17\n"},
};

const std::vector<GoodCase> kGood{
    {"optimizer: {lr: 3e-4}", "optimizer.lr", "0.0003"},
    {"optimizer: {lr: 1}", "optimizer.lr", "1"},
    {"distributed: {poll_interval: 60}", "distributed.poll_interval", "60"},
    {"distributed: {poll_interval: 60.0}", "distributed.poll_interval", "60.0"},
    {"run: {seed: 18446744073709551615}", "run.seed", "18446744073709551615"},
    {"run: {seed: 9007199254740993}", "run.seed", "9007199254740993"},
    {"run: {seed: -1}", "run.seed", "-1"},
    {"run: {name: 42}", "run.name", "\"42\""},
    {"run: {name: 1e3}", "run.name", "\"1e3\""},
    {"run: {name: 'yes'}", "run.name", "\"yes\""},
    {"run: {name: ''}", "run.name", "\"\""},
    {"run: {device: cuda:1}", "run.device", "\"cuda:1\""},
    {"run: {fast_path: off}", "run.fast_path", "\"off\""},
    {"run: {fast_path: 'off'}", "run.fast_path", "\"off\""},
    {"run: {threads: 4}", "run.threads", "4"},
    {"run: {threads: auto}", "run.threads", "\"auto\""},
    {"run: {max_steps: ~}", "run.max_steps", "1000"},
    {"run:\n", "run.max_steps", "1000"},
    {"data: {shuffle: On}", "data.shuffle", "true"},
    {"optimizer: {name: ' AdamW '}", "optimizer.name", "\"adamw\""},
    {"scheduler: {name: CONSTANT}", "scheduler.name", "\"constant\""},
    {"precision: {mode: FP32}", "precision.mode", "\"fp32\""},
    {"precision: {dtype: BF16}", "precision.dtype", "\"bf16\""},
    {"logging: {level: debug}", "logging.level", "\"DEBUG\""},
    {"distributed: {role: Master}", "distributed.role", "\"master\""},
    {"distributed: {node_id: 7}", "distributed.node_id", "\"7\""},
    {"checkpoint: {keep_last: null}", "checkpoint.keep_last", "null"},
    {"checkpoint: {resume: auto}", "checkpoint.resume", "\"auto\""},
    {"checkpoint: {resume: true}", "checkpoint.resume", "true"},
    {"shape_validation: {alignment: 16}", "shape_validation.alignment", "16"},
    {"shape_validation: {alignment: None}", "shape_validation.alignment", "\"none\""},
    {"shape_validation: {alignment: null}", "shape_validation.alignment", "\"auto\""},
    {"optimizer: {grad_clip: null}", "optimizer.grad_clip", "null"},
    {"optimizer: {betas: [0, 0.5]}", "optimizer.betas", "[0,0.5]"},
    {"data: {text_path: x.txt}", "data.text_path", "\"x.txt\""},
    {"ooo_backprop: true\nooo_streams: 8", "ooo_backprop", "true"},
    {"compile: {enabled: true}", "compile", "true"},
    {"compile: {}", "compile", "false"},
    {"compile: true", "compile", "true"},
    {"plugins: {path: [a, ./b.so]}", "plugins.path", "[\"a\",\"./b.so\"]"},
};

BOOST_AUTO_TEST_SUITE(check)

BOOST_DATA_TEST_CASE(renders_errors, kErrors, sample) {
  std::string rendered = error_of(sample.yaml);
  bool whole = !sample.rendered.empty() && sample.rendered.back() == '\n';
  BOOST_TEST((whole ? rendered : rendered.substr(0, sample.rendered.size())) == sample.rendered);
}

BOOST_DATA_TEST_CASE(accepts_values, kGood, sample) {
  BOOST_TEST(load(sample.yaml).at(sample.path).dump() == sample.json);
}

BOOST_AUTO_TEST_CASE(unknown_paths_are_out_of_range) {
  Config config = load("");
  BOOST_CHECK_THROW(config.at("optimizer.foo"), std::out_of_range);
  BOOST_CHECK_THROW(config.at("logging.sinks[0]"), std::out_of_range);
  BOOST_CHECK_THROW(config.at("run.name.x"), std::out_of_range);
  BOOST_CHECK_THROW(config.at(""), std::out_of_range);
  BOOST_TEST(config.at("optimizer").is_object());
}

BOOST_AUTO_TEST_CASE(where_tells_the_place_of_a_value) {
  Config config = load("optimizer:\n  lr: 0.1\n");
  BOOST_TEST(config.where("optimizer.lr").str() == "run.yaml:2:7");
  BOOST_TEST(!config.where("optimizer.eps").known());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host::test
