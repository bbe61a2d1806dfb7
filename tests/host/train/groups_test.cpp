#include <boost/test/unit_test.hpp>

#include "host/errors/error.hpp"
#include "host/train/groups.hpp"

namespace stc::host {
namespace {

struct Model4 {
  std::vector<ModelParameter> all{{"h.0.ln1.weight", {}, STC_ROLE_NORM, true, nullptr},
                                  {"h.0.mlp.up.weight", {}, STC_ROLE_LINEAR, true, nullptr},
                                  {"h.0.mlp.up.bias", {}, STC_ROLE_BIAS, true, nullptr},
                                  {"wte.weight", {}, STC_ROLE_EMBEDDING, true, nullptr}};
  std::vector<const ModelParameter*> parameters{&all[0], &all[1], &all[2], &all[3]};
  std::vector<std::string> routing{"adamw", "muon", "adamw", "adamw"};
};

OptimizerSettings settings() {
  OptimizerSettings out;
  out.name = "muon";
  out.lr = 0.01;
  out.weight_decay = 0.1;
  return out;
}

/// {rate, decay} of each parameter.
std::vector<std::pair<double, double>> rates(const OptimizerSettings& settings, const Model4& model) {
  const GroupPlan plan = plan_groups(model.parameters, model.routing, settings, {}, {});
  std::vector<std::pair<double, double>> out;
  for (const uint32_t group : plan.group) {
    out.emplace_back(plan.groups[group].lr_scale * settings.lr, plan.groups[group].weight_decay);
  }
  return out;
}

void check(const OptimizerSettings& settings, const std::vector<std::pair<double, double>>& expected) {
  const auto found = rates(settings, Model4{});
  BOOST_REQUIRE_EQUAL(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    BOOST_TEST_INFO("parameter " << i);
    BOOST_CHECK_CLOSE(found[i].first, expected[i].first, 1e-12);
    BOOST_TEST_INFO("parameter " << i);
    BOOST_CHECK_EQUAL(found[i].second, expected[i].second);
  }
}

std::string error_of(const OptimizerSettings& settings, const std::vector<std::string>& routing) {
  const Model4 model;
  try {
    plan_groups(model.parameters, routing, settings, {"run.yaml", 3, 4}, {"run.yaml", 5, 6});
  } catch (const ConfigError& error) {
    return error.render();
  }
  return "nothing was thrown";
}

BOOST_AUTO_TEST_SUITE(groups)

BOOST_AUTO_TEST_CASE(without_settings_there_is_one_group_with_the_rate_itself) {
  const Model4 model;
  const GroupPlan plan = plan_groups(model.parameters, model.routing, settings(), {}, {});
  BOOST_REQUIRE_EQUAL(plan.groups.size(), 1u);
  BOOST_CHECK_EQUAL(plan.groups[0].lr_scale, 1.0);
  BOOST_CHECK_EQUAL(plan.groups[0].weight_decay, 0.1);
}

BOOST_AUTO_TEST_CASE(no_decay_is_for_norms_and_biases) {
  OptimizerSettings s = settings();
  s.no_decay = true;
  check(s, {{0.01, 0.0}, {0.01, 0.1}, {0.01, 0.0}, {0.01, 0.1}});
}

BOOST_AUTO_TEST_CASE(muon_lr_is_for_what_goes_to_muon) {
  OptimizerSettings s = settings();
  s.muon_lr = 0.02;
  check(s, {{0.01, 0.1}, {0.02, 0.1}, {0.01, 0.1}, {0.01, 0.1}});
}

BOOST_AUTO_TEST_CASE(the_first_pattern_that_matches_has_the_parameter) {
  OptimizerSettings s = settings();
  s.groups = {{"*.up.weight", 0.5, std::nullopt}, {"h.*", 0.25, 0.7}};
  check(s, {{0.25, 0.7}, {0.5, 0.1}, {0.25, 0.7}, {0.01, 0.1}});
}

BOOST_AUTO_TEST_CASE(a_group_wins_over_no_decay_and_muon_lr) {
  OptimizerSettings s = settings();
  s.no_decay = true;
  s.muon_lr = 0.02;
  s.groups = {{"*.ln1.*", std::nullopt, 0.3}, {"*.up.weight", 0.001, std::nullopt}};
  check(s, {{0.01, 0.3}, {0.001, 0.1}, {0.01, 0.0}, {0.01, 0.1}});
}

BOOST_AUTO_TEST_CASE(refuses_a_pattern_without_a_parameter) {
  OptimizerSettings s = settings();
  s.groups = {{"*", 0.1, {}}, {"*.attn.*", 0.1, {}}};
  BOOST_CHECK_EQUAL(error_of(s, {}),
                    "error: optimizer.groups[1].match: got *.attn.*, which matches none of 4 trainable parameters\n"
                    "  at run.yaml:3:4\n"
                    "  hint: names are like h.0.ln1.weight; * stands for any characters\n");
}

BOOST_AUTO_TEST_CASE(refuses_muon_lr_without_muon) {
  OptimizerSettings s = settings();
  s.name = "adamw";
  s.muon_lr = 0.1;
  BOOST_CHECK_EQUAL(error_of(s, {"adamw", "adamw", "adamw", "adamw"}),
                    "error: optimizer.muon_lr: got a rate, but optimizer adamw gives no parameter to Muon\n"
                    "  at run.yaml:5:6\n"
                    "  hint: set optimizer.name: muon, or remove muon_lr\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace stc::host
