#include "tests/host/config/fake_catalog.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

namespace stc::host::test {
namespace {

Param bounded(Param param, double min, double max) {
  param.flags |= STC_PARAM_HAS_MIN | STC_PARAM_HAS_MAX;
  param.min = min;
  param.max = max;
  return param;
}

std::vector<Param> reference_params() {
  return {bounded(make_param("vocab_size", STC_PARAM_INT, "512"), 1, 1e9),
          bounded(make_param("max_seq_len", STC_PARAM_INT, "128"), 1, 1e9),
          bounded(make_param("n_layer", STC_PARAM_INT, "4"), 1, 1e9),
          bounded(make_param("n_head", STC_PARAM_INT, "8"), 1, 1e9),
          make_param("n_kv_head", STC_PARAM_INT, nullptr, STC_PARAM_NULLABLE),
          bounded(make_param("d_model", STC_PARAM_INT, "256"), 1, 1e9),
          make_param("d_ff", STC_PARAM_INT, nullptr, STC_PARAM_NULLABLE),
          make_param("dropout", STC_PARAM_FLOAT, "0"),
          make_param("tie_weights", STC_PARAM_BOOL, "true"),
          make_param("rope_base", STC_PARAM_FLOAT, "10000")};
}

}  // namespace

Param make_param(const char* name, int type, const char* default_text, unsigned flags) {
  Param param;
  param.name = name;
  param.type = type;
  param.flags = flags;
  if (default_text != nullptr) param.default_text = default_text;
  param.doc = std::string("help of ") + name;
  return param;
}

PluginDeclaration make_plugin(int kind, const char* name, std::vector<Param> params) {
  PluginDeclaration plugin;
  plugin.kind = kind;
  plugin.name = name;
  plugin.version = "1.0.0";
  plugin.library = std::string("stc_") + name + ".so";
  plugin.params = std::move(params);
  return plugin;
}

FakeCatalog::FakeCatalog() {
  add(make_plugin(STC_KIND_MODEL, "reference_transformer", reference_params()));
  add(make_plugin(
      STC_KIND_OPTIMIZER, "adamw",
      {bounded(make_param("betas", STC_PARAM_FLOAT_LIST, "[0.9, 0.95]", STC_PARAM_MAX_EXCLUSIVE), 0, 1),
       make_param("eps", STC_PARAM_FLOAT, "1e-08"), make_param("fused", STC_PARAM_BOOL, nullptr, STC_PARAM_NULLABLE)}));
  add(make_plugin(STC_KIND_OPTIMIZER, "cautious", {}));
  add(make_plugin(STC_KIND_DATASET, "synthetic",
                  {make_param("num_tokens", STC_PARAM_INT, "100000"), make_param("vocab_size", STC_PARAM_INT, "7"),
                   make_param("block_size", STC_PARAM_INT, "9"), make_param("seed", STC_PARAM_INT, "11")}));
  add(make_plugin(STC_KIND_DATASET, "text", {make_param("text_path", STC_PARAM_PATH, nullptr, STC_PARAM_REQUIRED)}));
  add(make_plugin(STC_KIND_TOKENIZER, "byte", {make_param("vocab_size", STC_PARAM_INT, "256")}));
  add(make_plugin(STC_KIND_PRECISION, "fp32", {}));
  add(make_plugin(STC_KIND_SINK, "jsonl", {make_param("path", STC_PARAM_PATH, nullptr, STC_PARAM_REQUIRED)}));
  add(make_plugin(STC_KIND_SINK, "csv",
                  {make_param("path", STC_PARAM_PATH, "metrics.csv"), make_param("scale", STC_PARAM_FLOAT, "1"),
                   make_param("api_key", STC_PARAM_STRING, nullptr, STC_PARAM_NULLABLE | STC_PARAM_SECRET)}));
}

void FakeCatalog::remove(int kind, const std::string& name) {
  std::erase_if(plugins_, [&](const PluginDeclaration& plugin) { return plugin.kind == kind && plugin.name == name; });
}

const PluginDeclaration* FakeCatalog::find(int kind, std::string_view name) {
  auto found = std::find_if(plugins_.begin(), plugins_.end(), [&](const PluginDeclaration& plugin) {
    return plugin.kind == kind && plugin.name == name;
  });
  return found == plugins_.end() ? nullptr : &*found;
}

std::vector<std::string> FakeCatalog::names(int kind) {
  std::vector<std::string> out;
  for (const PluginDeclaration& plugin : plugins_) {
    if (plugin.kind == kind) out.push_back(plugin.name);
  }
  return out;
}

Config load(const std::string& text, PluginCatalog& catalog, LoadRequest request, const std::string& file) {
  std::ofstream(file, std::ios::binary) << text;
  request.path = file;
  return load_config(request, catalog);
}

Config load(const std::string& text, LoadRequest request, const std::string& file) {
  FakeCatalog catalog;
  return load(text, catalog, std::move(request), file);
}

LoadRequest printing() {
  LoadRequest request;
  request.depth = Depth::kPrint;
  return request;
}

LoadRequest with_sets(std::vector<std::string> sets) {
  LoadRequest request;
  request.sets = std::move(sets);
  return request;
}

std::string error_of(const std::string& text, PluginCatalog& catalog, LoadRequest request, const std::string& file) {
  try {
    load(text, catalog, std::move(request), file);
  } catch (const Error& error) {
    return error.render();
  }
  return {};
}

std::string error_of(const std::string& text, LoadRequest request, const std::string& file) {
  FakeCatalog catalog;
  return error_of(text, catalog, std::move(request), file);
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string warnings_of(const Config& config) {
  std::string out;
  for (const Warning& warning : config.warnings()) out += warning.message + "\n";
  return out;
}

}  // namespace stc::host::test
