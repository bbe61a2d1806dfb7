// ELF64 by hand: the little that is needed (System V ABI, chapter 5; Linux note format), every
// offset checked against the file's size before it is used.

#include "host/plugins/note.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>

#include "host/plugins/gates.hpp"

namespace stc::host {
namespace {

constexpr uint16_t kHostMachine =
#if defined(__x86_64__)
    EM_X86_64;
#elif defined(__aarch64__)
    EM_AARCH64;
#elif defined(__riscv)
    EM_RISCV;
#elif defined(__powerpc64__)
    EM_PPC64;
#else
#error "name this machine's e_machine here"
#endif

std::string machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64: return "x86_64";
    case EM_386: return "x86 (32 bit)";
    case EM_AARCH64: return "aarch64";
    case EM_ARM: return "arm (32 bit)";
    case EM_RISCV: return "riscv";
    case EM_PPC64: return "ppc64";
    case EM_S390: return "s390";
    default: return "machine number " + std::to_string(machine);
  }
}

constexpr const char* kIncompleteHint = "copy or build the file again: it is incomplete or damaged";

/// The bytes of one library file, read piecewise, never beyond its end.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path) : path_(path) {
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status {};
    if (fd_ < 0 || ::fstat(fd_, &status) != 0) {
      const std::string reason = std::generic_category().message(errno);
      close();
      refuse("cannot be opened: " + reason, "check the path and its permissions");
    }
    if (!S_ISREG(status.st_mode)) {
      close();
      refuse("is not a regular file, wanted a shared library", "give the path of a .so file");
    }
    size_ = static_cast<uint64_t>(status.st_size);
  }
  ~ElfFile() { close(); }
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  uint64_t size() const { return size_; }
  bool holds(uint64_t offset, uint64_t bytes) const { return offset <= size_ && bytes <= size_ - offset; }

  void read(uint64_t offset, void* out, uint64_t bytes, const char* what) const {
    if (!holds(offset, bytes)) {
      refuse(std::string(what) + " ends at byte " + text_end(offset, bytes) + ", the file has " +
                 std::to_string(size_) + " bytes",
             kIncompleteHint);
    }
    auto* to = static_cast<char*>(out);
    while (bytes > 0) {
      const ssize_t n = ::pread(fd_, to, bytes, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) {
        refuse("cannot be read: " + (n < 0 ? std::generic_category().message(errno) : "it became shorter"),
               kIncompleteHint);
      }
      to += n;
      offset += static_cast<uint64_t>(n);
      bytes -= static_cast<uint64_t>(n);
    }
  }

  [[noreturn]] void refuse(const std::string& why, const std::string& hint) const {
    throw PluginError("plugin " + path_ + ": " + why, hint);
  }

 private:
  static std::string text_end(uint64_t offset, uint64_t bytes) {
    return bytes > UINT64_MAX - offset ? "2^64" : std::to_string(offset + bytes);
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

Elf64_Ehdr read_header(const ElfFile& file) {
  std::array<unsigned char, EI_NIDENT> ident{};
  file.read(0, ident.data(), std::min<uint64_t>(file.size(), ident.size()), "the header");
  if (std::memcmp(ident.data(), ELFMAG, SELFMAG) != 0) {
    file.refuse("is not a shared library (no ELF header)", "give the path of a .so file built with stc-sdk");
  }
  if (ident[EI_CLASS] == ELFCLASS32) {
    file.refuse("is a 32-bit library, wanted 64 bit", "build it for " + machine_name(kHostMachine));
  }
  if (ident[EI_CLASS] != ELFCLASS64) {
    file.refuse("has ELF class " + std::to_string(ident[EI_CLASS]) + ", wanted 2 (64 bit)", kIncompleteHint);
  }
  Elf64_Ehdr header{};
  file.read(0, &header, sizeof header, "the ELF header");
  constexpr unsigned char kHostData = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
  if (ident[EI_DATA] != kHostData) {
    file.refuse("has the other byte order, wanted that of " + machine_name(kHostMachine),
                "build it for " + machine_name(kHostMachine));
  }
  if (header.e_machine != kHostMachine) {
    file.refuse("built for " + machine_name(header.e_machine) + ", this host runs on " + machine_name(kHostMachine),
                "build it for " + machine_name(kHostMachine));
  }
  if (header.e_type != ET_DYN) {
    file.refuse("is an ELF file of type " + std::to_string(header.e_type) + ", wanted 3 (a shared library)",
                "link it with -shared");
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phnum == PN_XNUM) {
    file.refuse("has " + std::to_string(header.e_phnum) + " program headers of " + std::to_string(header.e_phentsize) +
                    " bytes, wanted at least one of 56",
                kIncompleteHint);
  }
  return header;
}

std::vector<Elf64_Phdr> read_segments(const ElfFile& file, const Elf64_Ehdr& header) {
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  file.read(header.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr), "the program header table");
  bool loads = false;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_LOAD) continue;
    loads = true;
    if (!file.holds(segment.p_offset, segment.p_filesz)) {
      file.refuse("a loaded segment reaches beyond the end of the file (" + std::to_string(file.size()) +
                      " bytes): the file is cut short",
                  kIncompleteHint);
    }
    if (segment.p_filesz > segment.p_memsz) {
      file.refuse("a loaded segment is larger in the file than in memory", kIncompleteHint);
    }
  }
  if (!loads) file.refuse("has no loaded segment", kIncompleteHint);
  return segments;
}

/// File offset of an address of the image.
std::optional<uint64_t> file_offset(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

std::vector<std::string> read_needed(const ElfFile& file, const std::vector<Elf64_Phdr>& segments) {
  const auto dynamic = std::find_if(segments.begin(), segments.end(),
                                    [](const Elf64_Phdr& segment) { return segment.p_type == PT_DYNAMIC; });
  if (dynamic == segments.end()) file.refuse("has no dynamic section, wanted a shared library", "link it with -shared");
  if (!file.holds(dynamic->p_offset, dynamic->p_filesz)) {
    file.refuse("the dynamic section reaches beyond the end of the file", kIncompleteHint);
  }
  std::vector<Elf64_Dyn> entries(dynamic->p_filesz / sizeof(Elf64_Dyn));
  file.read(dynamic->p_offset, entries.data(), entries.size() * sizeof(Elf64_Dyn), "the dynamic section");
  std::vector<uint64_t> names;
  uint64_t table = 0;
  uint64_t table_bytes = 0;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
    if (entry.d_tag == DT_STRTAB) table = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) table_bytes = entry.d_un.d_val;
  }
  if (names.empty()) return {};
  const std::optional<uint64_t> offset = file_offset(segments, table);
  if (!offset || !file.holds(*offset, table_bytes)) {
    file.refuse("the string table of the dynamic section lies outside of the file", kIncompleteHint);
  }
  std::string strings(table_bytes, '\0');
  file.read(*offset, strings.data(), table_bytes, "the string table");
  std::vector<std::string> needed;
  for (const uint64_t name : names) {
    const size_t end = name < table_bytes ? strings.find('\0', name) : std::string::npos;
    if (end == std::string::npos) file.refuse("a DT_NEEDED entry points outside of the string table", kIncompleteHint);
    needed.push_back(strings.substr(name, end - name));
  }
  return needed;
}

/// A fixed field of the note as text; it must be NUL-terminated.
template <size_t N>
std::string text_field(const ElfFile& file, const char (&field)[N], const char* what) {
  const void* end = std::memchr(field, 0, N);
  if (end == nullptr) {
    file.refuse(std::string("the note's ") + what + " is not NUL-terminated",
                "rebuild it with the macros of stc-sdk, which write the note");
  }
  return {field, static_cast<const char*>(end)};
}

void take_library_note(const ElfFile& file, const std::vector<char>& desc, PluginNote& note) {
  uint32_t version = 0;
  if (desc.size() >= sizeof version) std::memcpy(&version, desc.data(), sizeof version);
  if (version != STC_NOTE_VERSION) {
    file.refuse("note version " + std::to_string(version) + ", this host reads " + std::to_string(STC_NOTE_VERSION),
                "use a newer stc-host, or rebuild the plugin against stc-sdk " STC_VERSION);
  }
  stc_note_library raw{};
  if (desc.size() != sizeof raw) {
    file.refuse("its note has " + std::to_string(desc.size()) + " bytes, wanted " + std::to_string(sizeof raw),
                "rebuild it with the macros of stc-sdk, which write the note");
  }
  std::memcpy(&raw, desc.data(), sizeof raw);
  note.abi_major = raw.abi_major;
  note.abi_minor_built = raw.abi_minor_built;
  note.abi_minor_required = raw.abi_minor_required;
  note.level = static_cast<int>(raw.level);
  note.cxx11_abi = raw.cxx11_abi != 0;
  note.torch_target = raw.torch_target;
  note.torch_version = text_field(file, raw.torch_version, "LibTorch version");
  note.compiler = text_field(file, raw.compiler, "compiler");
  note.cuda = text_field(file, raw.cuda, "CUDA tag");
  note.package = text_field(file, raw.package, "package");
  note.version = text_field(file, raw.version, "version");
  note.licence = text_field(file, raw.licence, "licence");
}

void take_plugin_note(const ElfFile& file, const std::vector<char>& desc, PluginNote& note) {
  stc_note_plugin raw{};
  if (desc.size() != sizeof raw) {
    file.refuse(
        "the note of a plugin has " + std::to_string(desc.size()) + " bytes, wanted " + std::to_string(sizeof raw),
        "rebuild it with the macros of stc-sdk, which write the note");
  }
  std::memcpy(&raw, desc.data(), sizeof raw);
  NotePlugin plugin;
  plugin.kind = static_cast<int>(raw.kind);
  plugin.name = text_field(file, raw.name, "plugin name");
  plugin.version = text_field(file, raw.version, "plugin version");
  plugin.doc = text_field(file, raw.doc, "plugin doc line");
  note.plugins.push_back(std::move(plugin));
}

uint64_t padded(uint64_t bytes, uint64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

/// Walks one PT_NOTE segment. Notes of other makers are skipped; a note that does not fit ends the
/// walk. \returns the number of library notes found.
int walk_notes(const ElfFile& file, const Elf64_Phdr& segment, PluginNote& note) {
  constexpr uint64_t kLargest = 1U << 20U;  // notes of a library are a few hundred bytes
  if (!file.holds(segment.p_offset, segment.p_filesz)) {
    file.refuse("a note segment reaches beyond the end of the file", kIncompleteHint);
  }
  std::vector<char> bytes(std::min(segment.p_filesz, kLargest));
  file.read(segment.p_offset, bytes.data(), bytes.size(), "the notes");
  const uint64_t alignment = segment.p_align == 8 ? 8 : 4;
  int libraries = 0;
  for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= bytes.size();) {
    Elf64_Nhdr header{};
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const uint64_t name_at = at + sizeof header;
    const uint64_t desc_at = name_at + padded(header.n_namesz, alignment);
    const uint64_t next = desc_at + padded(header.n_descsz, alignment);
    if (desc_at + header.n_descsz > bytes.size()) break;
    const bool ours = header.n_namesz == sizeof(STC_NOTE_NAME) &&
                      std::memcmp(bytes.data() + name_at, STC_NOTE_NAME, sizeof(STC_NOTE_NAME)) == 0;
    if (ours) {
      const std::vector<char> desc(bytes.data() + desc_at, bytes.data() + desc_at + header.n_descsz);
      if (header.n_type == STC_NOTE_TYPE_LIBRARY && ++libraries == 1) take_library_note(file, desc, note);
      if (header.n_type == STC_NOTE_TYPE_PLUGIN) take_plugin_note(file, desc, note);
    }
    at = next;
  }
  return libraries;
}

}  // namespace

PluginNote parse_note(const std::string& path) {
  const ElfFile file(path);
  const Elf64_Ehdr header = read_header(file);
  const std::vector<Elf64_Phdr> segments = read_segments(file, header);
  PluginNote note;
  note.path = path;
  int libraries = 0;
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_NOTE) libraries += walk_notes(file, segment, note);
  }
  if (libraries == 0) {
    throw NoNoteError("plugin " + path + ": has no stc note: it is a library, but not a plugin of stc",
                      "build it with stc_add_plugin and a STC_<KIND>_PLUGIN macro of stc-sdk");
  }
  if (libraries > 1) {
    file.refuse("has " + std::to_string(libraries) + " library notes, wanted one",
                "use STC_PLUGIN_LIBRARY once for all plugins of the library");
  }
  note.needed = read_needed(file, segments);
  return note;
}

PluginNote read_note(const std::string& path) {
  PluginNote note = parse_note(path);
  check_abi(note);
  check_records(note);
  return note;
}

}  // namespace stc::host
