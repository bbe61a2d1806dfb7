/// \file
/// The note: what a library says about itself without being loaded (`readelf -n`).
#pragma once

#include <cstddef>
#include <cstdint>

#include "stc/abi/plugin.h"

/// An ABI version as one number.
#define STC_ABI(major, minor) ((major)*1000 + (minor))
/// The oldest host that the plugin runs on. A lower target loads on more hosts and sees fewer
/// slots.
#ifndef STC_TARGET_ABI
#define STC_TARGET_ABI STC_ABI(STC_ABI_MAJOR, STC_ABI_MINOR)
#endif
static_assert(STC_TARGET_ABI <= STC_ABI(STC_ABI_MAJOR, STC_ABI_MINOR) && STC_TARGET_ABI >= STC_ABI(0, 1),
              "STC_TARGET_ABI is not a version that these headers know");

#ifndef STC_PLUGIN_PACKAGE
#define STC_PLUGIN_PACKAGE "unnamed"
#endif
#ifndef STC_PLUGIN_VERSION
#define STC_PLUGIN_VERSION "0.0.0"
#endif
#ifndef STC_PLUGIN_LICENCE
#define STC_PLUGIN_LICENCE "unstated"
#endif
#ifndef STC_PLUGIN_CUDA
#define STC_PLUGIN_CUDA ""
#endif
#define STC_DETAIL_TEXT2(x) #x
#define STC_DETAIL_TEXT(x) STC_DETAIL_TEXT2(x)
#if defined(__clang__)
#define STC_DETAIL_COMPILER                                                                           \
  "clang " STC_DETAIL_TEXT(__clang_major__) "." STC_DETAIL_TEXT(__clang_minor__) "." STC_DETAIL_TEXT( \
      __clang_patchlevel__)
#elif defined(__GNUC__)
#define STC_DETAIL_COMPILER "gcc " __VERSION__
#else
#define STC_DETAIL_COMPILER "unknown"
#endif
#if defined(_GLIBCXX_USE_CXX11_ABI)
#define STC_DETAIL_CXX11 _GLIBCXX_USE_CXX11_ABI
#else
#define STC_DETAIL_CXX11 1
#endif

namespace stc::detail {

/// Not constexpr: reaching it in a constant expression is the compile error.
inline void text_is_too_long_for_the_note() {}
inline void name_is_not_lower_case_with_digits_and_underscores() {}

/// Copies with the final NUL; what does not fit does not compile.
template <std::size_t N, std::size_t M>
consteval void copy_text(char (&to)[N], const char (&from)[M]) {
  if (M > N) {
    text_is_too_long_for_the_note();
  }
  for (std::size_t i = 0; i < M; ++i) {
    to[i] = from[i];
  }
}
/// Cuts instead.
template <std::size_t N, std::size_t M>
consteval void copy_cut(char (&to)[N], const char (&from)[M]) {
  for (std::size_t i = 0; i < M && i + 1 < N; ++i) {
    to[i] = from[i];
  }
}

/// [a-z][a-z0-9_]*
template <std::size_t N>
consteval bool is_plugin_name(const char (&name)[N]) {
  if (name[0] < 'a' || name[0] > 'z') {
    return false;
  }
  for (std::size_t i = 0; i + 1 < N; ++i) {
    const bool letter = name[i] >= 'a' && name[i] <= 'z';
    const bool digit = name[i] >= '0' && name[i] <= '9';
    if (!letter && !digit && name[i] != '_') {
      return false;
    }
  }
  return true;
}

consteval void copy_owner(char (&to)[4]) {
  constexpr char kName[4] = STC_NOTE_NAME;
  for (std::size_t i = 0; i < 4; ++i) {
    to[i] = kName[i];
  }
}

template <std::size_t A, std::size_t B, std::size_t C>
consteval stc_elf_note_plugin plugin_note(int32_t kind, const char (&name)[A], const char (&version)[B],
                                          const char (&doc)[C]) {
  if (!is_plugin_name(name)) {
    name_is_not_lower_case_with_digits_and_underscores();
  }
  stc_elf_note_plugin note{};
  note.namesz = 4;
  note.descsz = sizeof(stc_note_plugin);
  note.type = STC_NOTE_TYPE_PLUGIN;
  copy_owner(note.name);
  note.desc.kind = static_cast<uint32_t>(kind);
  copy_text(note.desc.name, name);
  copy_text(note.desc.version, version);
  copy_text(note.desc.doc, doc);
  return note;
}

template <std::size_t A>
consteval stc_elf_note_library library_note(uint32_t level, uint64_t torch_target, const char (&torch_version)[A]) {
  stc_elf_note_library note{};
  note.namesz = 4;
  note.descsz = sizeof(stc_note_library);
  note.type = STC_NOTE_TYPE_LIBRARY;
  copy_owner(note.name);
  note.desc.note_version = STC_NOTE_VERSION;
  note.desc.abi_major = STC_ABI_MAJOR;
  note.desc.abi_minor_built = STC_ABI_MINOR;
  note.desc.abi_minor_required = STC_TARGET_ABI % 1000;
  note.desc.level = level;
  note.desc.cxx11_abi = STC_DETAIL_CXX11;
  note.desc.torch_target = torch_target;
  copy_text(note.desc.torch_version, torch_version);
  copy_cut(note.desc.compiler, STC_DETAIL_COMPILER);
  copy_text(note.desc.cuda, STC_PLUGIN_CUDA);
  copy_text(note.desc.package, STC_PLUGIN_PACKAGE);
  copy_text(note.desc.version, STC_PLUGIN_VERSION);
  copy_text(note.desc.licence, STC_PLUGIN_LICENCE);
  return note;
}

}  // namespace stc::detail

#define STC_DETAIL_JOIN2(a, b) a##b
#define STC_DETAIL_JOIN(a, b) STC_DETAIL_JOIN2(a, b)
#define STC_DETAIL_IN_NOTE __attribute__((section(".note.stc"), used, retain, aligned(4)))

#define STC_PLUGIN_NOTE(kind, name, version, doc)                                                          \
  STC_DETAIL_IN_NOTE static constexpr stc_elf_note_plugin STC_DETAIL_JOIN(stc_note_plugin_, __COUNTER__) = \
      ::stc::detail::plugin_note(kind, name, version, doc);

#define STC_LIBRARY_NOTE(level, torch_target, torch_version)                     \
  STC_DETAIL_IN_NOTE static constexpr stc_elf_note_library stc_note_of_library = \
      ::stc::detail::library_note(level, torch_target, torch_version);

#define STC_LIBRARY_NOTE_plain() STC_LIBRARY_NOTE(STC_LEVEL_PLAIN, 0, "")
// stc/stable and stc/exact define the LibTorch that they were built for.
#define STC_LIBRARY_NOTE_stable() STC_LIBRARY_NOTE(STC_LEVEL_STABLE, STC_TORCH_TARGET, "")
#define STC_LIBRARY_NOTE_exact() STC_LIBRARY_NOTE(STC_LEVEL_EXACT, 0, STC_TORCH_VERSION)
