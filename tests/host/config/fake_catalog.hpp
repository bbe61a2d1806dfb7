/// \file
/// A table of plugins in place of libraries, and short ways to load a run file.
#pragma once

#include <string>
#include <vector>

#include "host/config/config.hpp"

namespace stc::host::test {

class FakeCatalog : public PluginCatalog {
 public:
  /// The plugins of the product that these tests need, with their keys.
  FakeCatalog();
  void add(PluginDeclaration plugin) { plugins_.push_back(std::move(plugin)); }
  void remove(int kind, const std::string& name);

  void add_search_paths(const std::vector<std::string>& paths) override { search_paths = paths; }
  const PluginDeclaration* find(int kind, std::string_view name) override;
  std::vector<std::string> names(int kind) override;

  std::vector<std::string> search_paths = {"never called"};

 private:
  std::vector<PluginDeclaration> plugins_;
};

Param make_param(const char* name, int type, const char* default_text, unsigned flags = 0);
PluginDeclaration make_plugin(int kind, const char* name, std::vector<Param> params);

/// Writes \p text to \p file in the working directory and loads it.
Config load(const std::string& text, LoadRequest request = {}, const std::string& file = "run.yaml");
Config load(const std::string& text, PluginCatalog& catalog, LoadRequest request = {},
            const std::string& file = "run.yaml");
/// LoadRequest with only a depth or only --set.
LoadRequest printing();
LoadRequest with_sets(std::vector<std::string> sets);

/// What the command would print for the error of loading; "" when there was none.
std::string error_of(const std::string& text, LoadRequest request = {}, const std::string& file = "run.yaml");
std::string error_of(const std::string& text, PluginCatalog& catalog, LoadRequest request = {},
                     const std::string& file = "run.yaml");

bool contains(const std::string& text, const std::string& part);
/// Messages of all warnings, one a line.
std::string warnings_of(const Config& config);

}  // namespace stc::host::test
