#include "host/config/keys.hpp"

#include <algorithm>

#include "host/config/key_builder.hpp"
#include "host/config/scalar.hpp"

namespace stc::host {
namespace {

using namespace key_types;
using Form = HostKey::Form;

void add(std::vector<HostKey>& out, const char* section, const std::vector<Key>& keys) {
  for (const Key& key : keys) out.push_back(key.build(section, false));
}

void add_run_and_data(std::vector<HostKey>& out) {
  add(out, "run",
      {Key("fast_path", kEnum, "auto", "the model's own fused pass: where exact, never, or always")
           .words({"auto", "off", "require"}),
       Key("threads", kInt, "auto", "CPU threads").at_least(1).at_most(4096).words({"auto"}),
       Key("loss_average", kEnum, "tokens", "weigh every label alike, or every micro-batch")
           .words({"tokens", "microbatches"}),
       Key("nan_policy", kEnum, "stop", "what a NaN or infinite loss or gradient does")
           .words({"stop", "skip", "continue"}),
       Key("max_time", kFloat, kNull, "seconds after which this process ends the run").above(0),
       Key("eval_every", kInt, kNull, "optimizer steps between evaluations; null: one at the end").at_least(1)});
  add(out, "data",
      {Key("name", kString, kNull, "dataset plugin; null: by text_path, dataset, synthetic").read_by_host(),
       Key("tokenizer", kString, "byte", "tokenizer plugin").read_by_host(),
       Key("validation_path", kObject, kNull, "validation text: a path, or names and paths")
           .form(Form::kPathOrMap)
           .read_by_host()});
}

void add_optimizer_to_logging(std::vector<HostKey>& out) {
  add(out, "optimizer",
      {Key("groups", kObject, "[]", "rates of parameters by name: [{match, lr, weight_decay}]")
           .form(Form::kGroups)
           .read_by_host(),
       Key("no_decay", kBool, "false", "no weight decay for norms and biases").read_by_host(),
       Key("muon_lr", kFloat, kNull, "learning rate of Muon's matrices").above(0).read_by_host()});
  add(out, "scheduler",
      {Key("decay_steps", kInt, kNull, "length of wsd's decay; null: a tenth of what follows warm-up").at_least(1),
       Key("cycles", kInt, kNull, "number of cosines of cosine_with_restarts; null: 1").at_least(1)});
  add(out, "precision",
      {Key("max_skipped_steps", kInt, "50", "skipped updates in a row before the run ends")
           .at_least(0)
           .read_by_host()});
  add(out, "checkpoint", {Key("keep_every", kInt, kNull, "checkpoints of every n-th step stay").at_least(1)});
  add(out, "logging",
      {Key("sinks", kObject, "[]", "sink plugins: names or {name, ...keys}").form(Form::kSinks),
       Key("sample_prompts", kStrings, "[]", "texts that the model continues at each evaluation")});
}

void add_rest(std::vector<HostKey>& out) {
  add(out, "distributed",
      {Key("backend", kString, kNull, "sync plugin; null: filesystem for a path, else hub").lower().read_by_host()});
  add(out, "plugins",
      {Key("path", kStrings, "[]", "folders and libraries to look for plugins in"),
       Key("pins", kObject, "{}", "plugin names and the hashes that their libraries must have").later()});
  add(out, "parallel",
      {Key("mode", kEnum, "none", "several ranks of one node").words({"none", "ddp"}).later_values({"ddp"}),
       Key("backend", kString, "c10d", "collective plugin"),
       Key("timeout_s", kFloat, "600", "longest wait for another rank").above(0)});
  add(out, "",
      {Key("ema", kObject, kNull, "moving average of the weights: {decay, every}")
           .parts({Key("decay", kFloat, kNull, "weight of the past").above(0).below(1).required(),
                   Key("every", kInt, "1", "optimizer steps between updates").at_least(1)}),
       Key("early_stop", kObject, kNull, "end when evaluation stops improving: {patience, min_delta}")
           .parts({Key("patience", kInt, kNull, "evaluations without improvement").at_least(1).required(),
                   Key("min_delta", kFloat, "0", "the least fall of the loss that counts").at_least(0)})});
}

std::vector<HostKey> all_keys() {
  std::vector<HostKey> keys = keys_of_2_0_0();
  std::vector<HostKey> ours = keys_of_ours();
  keys.insert(keys.end(), ours.begin(), ours.end());
  const std::vector<std::string>& order = section_names();
  auto rank = [&order](const HostKey& key) {
    auto place = std::find(order.begin(), order.end(), key.section) - order.begin();
    // The root's own keys of ours follow the sections of ours.
    return key.section.empty() && !key.in_2_0_0 ? static_cast<std::ptrdiff_t>(order.size()) : place;
  };
  std::stable_sort(keys.begin(), keys.end(), [&rank](const HostKey& a, const HostKey& b) { return rank(a) < rank(b); });
  return keys;
}

std::string join_words(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

std::string bound(double value) {
  constexpr double kExact = 9007199254740992.0;
  if (value == static_cast<double>(static_cast<int64_t>(value)) && value < kExact && value > -kExact) {
    return std::to_string(static_cast<int64_t>(value));
  }
  return format_double(value);
}

std::string kind_of_value(const Param& param) {
  switch (param.type) {
    case STC_PARAM_INT: return "an integer";
    case STC_PARAM_FLOAT: return "a number";
    case STC_PARAM_BOOL: return "true or false";
    case STC_PARAM_INT_LIST: return "a list of integers";
    case STC_PARAM_FLOAT_LIST: return "a list of numbers";
    case STC_PARAM_STRING_LIST: return "a list of strings";
    case STC_PARAM_PATH: return "a path";
    case STC_PARAM_OBJECT: return "a mapping";
    default: return "a string";
  }
}

}  // namespace

const std::vector<std::string>& section_names() {
  static const std::vector<std::string> names{"run",       "model",      "data",    "optimizer",   "scheduler",
                                              "precision", "checkpoint", "logging", "distributed", "shape_validation",
                                              "",          "plugins",    "parallel"};
  return names;
}

const std::vector<std::string>& run_aliases() {
  static const std::vector<std::string> names{"name", "seed", "device", "max_steps", "output_dir", "log_every"};
  return names;
}

std::vector<HostKey> keys_of_ours() {
  std::vector<HostKey> out;
  add_run_and_data(out);
  add_optimizer_to_logging(out);
  add_rest(out);
  return out;
}

const std::vector<HostKey>& host_keys() {
  static const std::vector<HostKey> keys = all_keys();
  return keys;
}

const HostKey* find_host_key(std::string_view section, std::string_view name) {
  for (const HostKey& key : host_keys()) {
    if (key.section == section && key.param.name == name) return &key;
  }
  return nullptr;
}

std::string type_name(const Param& param) {
  static const char* const kNames[] = {"?",        "int",        "float", "bool",   "string",     "enum",
                                       "int list", "float list", "path",  "object", "string list"};
  bool known = param.type > 0 && param.type <= STC_PARAM_STRING_LIST;
  std::string name = known ? kNames[param.type] : kNames[0];
  bool with_words = param.type == STC_PARAM_INT || param.type == STC_PARAM_BOOL;
  if (with_words && !param.enum_values.empty()) name += " or " + join_words(param.enum_values);
  if (param.flags & STC_PARAM_NULLABLE) name += " or null";
  return name;
}

std::string range_text(const Param& param) {
  bool has_min = (param.flags & STC_PARAM_HAS_MIN) != 0;
  bool has_max = (param.flags & STC_PARAM_HAS_MAX) != 0;
  bool open_min = (param.flags & STC_PARAM_MIN_EXCLUSIVE) != 0;
  bool open_max = (param.flags & STC_PARAM_MAX_EXCLUSIVE) != 0;
  if (has_min && has_max) {
    if (param.min == param.max) return "exactly " + bound(param.min);
    return std::string("in ") + (open_min ? "(" : "[") + bound(param.min) + ", " + bound(param.max) +
           (open_max ? ")" : "]");
  }
  if (has_min) {
    bool positive_integer = param.type == STC_PARAM_INT && param.min == 1 && !open_min;
    if (positive_integer) return "> 0";
    return (open_min ? "> " : ">= ") + bound(param.min);
  }
  if (has_max) return (open_max ? "< " : "<= ") + bound(param.max);
  return {};
}

std::string allowed(const Param& param) {
  if (param.type == STC_PARAM_ENUM) return join_words(param.enum_values);
  std::string text = kind_of_value(param);
  std::string range = range_text(param);
  if (!range.empty()) text += " " + range;
  if (param.type == STC_PARAM_OBJECT && !param.enum_values.empty()) {
    return text + " with the keys " + join_words(param.enum_values);
  }
  if (param.enum_values.empty()) return text;
  std::vector<std::string> choices{text};
  if (param.type == STC_PARAM_BOOL) choices = {"true", "false"};
  choices.insert(choices.end(), param.enum_values.begin(), param.enum_values.end());
  return join_words(choices);
}

}  // namespace stc::host
