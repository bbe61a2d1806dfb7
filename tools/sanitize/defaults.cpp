// Settings of the sanitizers for the programs of a build with STC_SANITIZE, inside of them, so that they hold wherever a program
// is started from. LibTorch, MKL and libgomp are not instrumented: what is left out here is theirs, each with its reason.

extern "C" {

[[gnu::visibility("default")]] const char* __asan_default_options() {
  // LibTorch's libraries define the same inline variables as ours do: no violation of one definition.
  // Memory that there is not is refused as without the sanitizer: callers handle it.
  // Signals are handled by the program itself, which writes its last event: that is under test.
  // Thread-local storage of libraries is not walked through at the end: the tracer of g++ 12's library reads past it and crashes.
  return "detect_odr_violation=0:detect_stack_use_after_return=0:strict_init_order=0:allocator_may_return_null=1"
         ":handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0"
         ":intercept_tls_get_addr=0";
}

[[gnu::visibility("default")]] const char* __ubsan_default_options() { return "print_stacktrace=1:halt_on_error=1"; }

[[gnu::visibility("default")]] const char* __lsan_default_suppressions() {
  return
      // Registries, schemas and dispatch tables that live as long as the process.
      "leak:libtorch_cpu.so\n"
      "leak:libtorch.so\n"
      "leak:libc10.so\n"
      // Threads of the pool at the end of the process.
      "leak:libgomp\n";
}

[[gnu::visibility("default")]] const char* __tsan_default_options() {
  return "ignore_noninstrumented_modules=1:halt_on_error=0:exitcode=66:allocator_may_return_null=1"
         ":handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0";
}

[[gnu::visibility("default")]] const char* __tsan_default_suppressions() {
  return
      // Not instrumented: the sanitizer does not see how their threads wait for each other.
      "called_from_lib:libgomp\n"
      "called_from_lib:libtorch_cpu.so\n"
      "called_from_lib:libc10.so\n";
}
}
