/// \file
/// `stc-host explain`: what each key is, holds, and where that came from.
#pragma once

#include <string>

#include "host/config/config.hpp"

namespace stc::host {

/// \param selection  a key, a section, or empty for all
/// \param format     text; json (a list of objects, for programs); markdown (tables, for the docs)
/// \throws ConfigError when the selection names nothing, with the nearest key.
std::string explain_keys(const Config& config, const std::string& selection, const std::string& format);

/// "default", "run.yaml:12:7", "--set optimizer.lr", "alias max_steps, run.yaml:3:12", "from
/// run.seed".
std::string origin_text(const Origin& origin);

}  // namespace stc::host
