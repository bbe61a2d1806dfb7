/// \file
/// The core of the C++ layer for plugin authors, the same for every kind and level. Include the
/// header of your kind instead: stc/plain/sink.hpp, stc/exact/model.hpp and so on.
///
///   core/host.hpp      stc::Host, stc::Config: what the host offers
///   core/value.hpp     stc::Value
///   core/params.hpp    declaring and reading parameters
///   core/fault.hpp     stc::Fault: how author code fails
///   core/state.hpp     stc::StateWriter, stc::StateReader: checkpoints
///   core/guard.hpp     exceptions to errors
///   core/instance.hpp  the object behind the opaque pointer
///   core/library.hpp   the macros that make a library of plugins
#pragma once

#include "stc/abi.h"
#include "stc/core/dtype.hpp"
#include "stc/core/fault.hpp"
#include "stc/core/guard.hpp"
#include "stc/core/host.hpp"
#include "stc/core/instance.hpp"
#include "stc/core/library.hpp"
#include "stc/core/params.hpp"
#include "stc/core/state.hpp"
#include "stc/core/value.hpp"
