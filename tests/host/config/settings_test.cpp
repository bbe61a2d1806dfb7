#include "host/config/settings.hpp"

#include <stdexcept>
#include <string>

#include <boost/test/unit_test.hpp>

#include "tests/host/config/fake_catalog.hpp"

namespace stc::host::test {

BOOST_AUTO_TEST_SUITE(settings)

BOOST_AUTO_TEST_CASE(a_key_that_the_program_does_not_have_is_named) {
  BOOST_CHECK_EXCEPTION(load("").at("run.none"), std::out_of_range, [](const std::out_of_range& error) {
    return std::string(error.what()) == "no configuration key run.none";
  });
}

BOOST_AUTO_TEST_CASE(defaults) {
  Settings settings = make_settings(load(""));
  BOOST_TEST(settings.run.name == "speedtronic-run");
  BOOST_TEST(settings.run.seed == 1234u);
  BOOST_TEST(settings.run.device == "auto");
  BOOST_TEST(settings.run.target_step == 1000);
  BOOST_TEST(settings.run.fast_path == "auto");
  BOOST_TEST(!settings.run.threads.has_value());
  BOOST_TEST(settings.model_name == "reference_transformer");
  BOOST_TEST(settings.data.plugin == "synthetic");
  BOOST_TEST(settings.data.tokenizer == "byte");
  BOOST_TEST(settings.data.block_size == 128);
  BOOST_TEST(settings.data.vocab_size == 512);
  BOOST_TEST(settings.data.accumulation_steps == 1);
  BOOST_TEST(settings.data.prefetch_factor == 2);
  BOOST_TEST(!settings.data.pin_memory.has_value());
  BOOST_TEST(settings.data.seed == 1234u);
  BOOST_TEST(settings.optimizer.lr == 0.0003);
  BOOST_TEST(!settings.optimizer.grad_clip.has_value());
  BOOST_TEST(settings.scheduler.warmup_steps == 100);
  BOOST_TEST(settings.precision.request == "auto");
  BOOST_TEST(settings.precision.plugin == "");
  BOOST_TEST(settings.precision.max_skipped_steps == 50);
  BOOST_TEST(settings.checkpoint.keep_last.value() == 3);
  BOOST_TEST((settings.checkpoint.resume == CheckpointSettings::Resume::kNo));
  BOOST_TEST(settings.logging.level == "INFO");
  BOOST_TEST(!settings.logging.file.has_value());
  BOOST_TEST(settings.logging.sinks.empty());
}

BOOST_AUTO_TEST_CASE(evaluation_and_moving_average) {
  const Settings none = make_settings(load(""));
  BOOST_TEST(!none.evaluation.wanted());
  BOOST_TEST(!none.ema.has_value());
  BOOST_TEST(!none.run.max_time_s.has_value());

  const Settings one = make_settings(load("data: {validation_path: v.txt}"));
  BOOST_TEST(one.evaluation.wanted());
  BOOST_TEST(one.evaluation.sets.at(0).name == "validation");
  BOOST_TEST(one.evaluation.sets.at(0).path == "v.txt");
  BOOST_TEST(!one.evaluation.every_steps.has_value());

  const Settings all =
      make_settings(load("run: {eval_every: 5, max_time: 60}\ndata: {validation_path: {z: v.txt, a: w.txt}}\n"
                         "ema: {decay: 0.9}\nearly_stop: {patience: 3}\nlogging: {sample_prompts: [one, two]}"));
  BOOST_TEST(all.run.max_time_s.value() == 60.0);
  BOOST_TEST(all.evaluation.every_steps.value() == 5);
  BOOST_REQUIRE(all.evaluation.sets.size() == 2u);
  BOOST_TEST(all.evaluation.sets[0].name == "z");  // in the order of the file
  BOOST_TEST(all.evaluation.sets[1].path == "w.txt");
  BOOST_TEST(all.evaluation.early_stop.value().patience == 3);
  BOOST_TEST(all.evaluation.early_stop.value().min_delta == 0.0);
  BOOST_TEST(all.evaluation.sample_prompts.size() == 2u);
  BOOST_TEST(all.ema.value().decay == 0.9);
  BOOST_TEST(all.ema.value().every == 1);
}

BOOST_AUTO_TEST_CASE(written_values) {
  FakeCatalog catalog;
  catalog.add(make_plugin(STC_KIND_PRECISION, "fp8", {}));
  Settings settings =
      make_settings(load("run: {seed: -1, threads: 3, device: cpu}\nmodel: {name: gpt}\n"
                         "data: {text_path: a, micro_batch_size: 2, target_batch_size: 8, "
                         "pin_memory: true, prefetch_factor: 5}\n"
                         "optimizer: {lr: 1, grad_clip: 2, cautious: true}\nprecision: fp8\n"
                         "checkpoint: {keep_last: null, keep_every: 9, resume: auto}\n"
                         "logging: {level: warn, file: '', json_file: x.jsonl}\ncompile: "
                         "true\ngradient_checkpointing: true\n",
                         catalog));
  BOOST_TEST(settings.run.seed == 18446744073709551615u);
  BOOST_TEST(settings.data.seed == 18446744073709551615u);
  BOOST_TEST(settings.run.threads.value() == 3);
  BOOST_TEST(settings.model_name == "reference_transformer");
  BOOST_TEST(settings.data.plugin == "text");
  BOOST_TEST(settings.data.accumulation_steps == 4);
  BOOST_TEST(settings.data.pin_memory.value());
  BOOST_TEST(settings.data.prefetch_factor == 5);
  BOOST_TEST(settings.optimizer.lr == 1.0);
  BOOST_TEST(settings.optimizer.grad_clip.value() == 2.0);
  BOOST_TEST(settings.optimizer.cautious);
  BOOST_TEST(settings.precision.plugin == "fp8");
  BOOST_TEST(!settings.checkpoint.keep_last.has_value());
  BOOST_TEST(settings.checkpoint.keep_every.value() == 9);
  BOOST_TEST((settings.checkpoint.resume == CheckpointSettings::Resume::kAuto));
  BOOST_TEST(settings.logging.level == "WARNING");
  BOOST_TEST(!settings.logging.file.has_value());
  BOOST_REQUIRE(settings.logging.sinks.size() == 1u);
  BOOST_TEST(settings.logging.sinks[0].section.dump() == R"({"path":"x.jsonl"})");
  BOOST_TEST(settings.compile);
  BOOST_TEST(settings.gradient_checkpointing);
}

BOOST_AUTO_TEST_CASE(precision_requests) {
  auto precision = [](const char* yaml) { return make_settings(load(yaml)).precision; };
  BOOST_TEST(precision("precision: bf16").request == "bf16");
  BOOST_TEST(precision("precision: bf16").plugin == "");
  BOOST_TEST(precision("precision: {dtype: fp16}").request == "fp16");
  BOOST_TEST(precision("precision: {mode: fp32, dtype: fp16}").request == "fp32");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace stc::host::test
