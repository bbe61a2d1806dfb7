// Linked against, then not there when the plugin is loaded.
int stc_test_missing_dependency(void);
int stc_test_missing_dependency(void) {
  return 7;
}
