/// \file
/// The contract between stc-host and its plugins: the only thing that is binary-stable.
///
/// A plugin is a shared library with one exported function, stc_plugin_entry_v1, and an ELF note that
/// says what it holds. Authors use the C++ layer (stc/plain, stc/stable, stc/exact) and rarely this.
#pragma once

#include "stc/abi/core.h"
#include "stc/abi/host.h"
#include "stc/abi/plugin.h"

#include "stc/abi/collective.h"
#include "stc/abi/coordinator.h"
#include "stc/abi/dataset.h"
#include "stc/abi/model.h"
#include "stc/abi/optimizer.h"
#include "stc/abi/precision.h"
#include "stc/abi/sink.h"
#include "stc/abi/sync.h"
#include "stc/abi/tokenizer.h"
