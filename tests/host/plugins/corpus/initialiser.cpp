// What C++ can do beyond corpus/sink.c, which it includes: exceptions and global state at load.

#include <xmmintrin.h>

#include <clocale>
#include <locale>
#include <stdexcept>

#include "stc/abi/plugin.h"

#if defined(HOSTILE_THROWS_RUNTIME_ERROR)
struct AtLoad {
  AtLoad() { throw std::runtime_error("no licence server\nat 10.0.0.1"); }
} at_load;
#elif defined(HOSTILE_THROWS_INT)
struct AtLoad {
  AtLoad() { throw 42; }
} at_load;
#elif defined(HOSTILE_SETS_GLOBALS)
namespace {
struct Comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};
struct AtLoad {
  AtLoad() {
    std::locale::global(std::locale(std::locale(), new Comma));
    std::setlocale(LC_ALL, "C.UTF-8");
    _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  }
} at_load;
}  // namespace
#endif

#if defined(HOSTILE_ENTRY_THROWS_RUNTIME_ERROR) || defined(HOSTILE_ENTRY_THROWS_INT)
extern "C" __attribute__((visibility("default"))) stc_error* stc_plugin_entry_v1(const stc_host*,
                                                                                 const stc_plugin_set**) {
#ifdef HOSTILE_ENTRY_THROWS_INT
  throw 42;
#else
  throw std::runtime_error("no licence server");
#endif
}
#endif
