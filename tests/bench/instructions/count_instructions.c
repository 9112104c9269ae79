// A plugin for qemu-user that counts the guest's instructions and writes the sum to
// a file as the guest exits:  qemu-aarch64 -plugin count_instructions.so,out=FILE …
// Debian does not package qemu-plugin.h; declared here is what is used of version 1
// of its interface.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;  // a translated block: it is entered at its first instruction
enum { kInlineAddU64 = 0 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*translated)(qemu_plugin_id_t,
                                                              struct qemu_plugin_tb*));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb* block, int operation,
                                              void* counter, uint64_t amount);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*ended)(qemu_plugin_id_t, void*),
                                    void* data);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t executed;  // of all threads, without locking: count programs of one thread
static char path[4096];

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, kInlineAddU64, &executed,
                                           qemu_plugin_tb_n_insns(block));
}

static void on_exit_of_guest(qemu_plugin_id_t id, void* data) {
  (void)id, (void)data;
  FILE* file = fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%llu\n", (unsigned long long)executed);
  fclose(file);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id,
                                                               const void* machine, int count,
                                                               char** arguments) {
  (void)machine;
  for (int i = 0; i < count; ++i) {
    if (strncmp(arguments[i], "out=", 4) == 0) snprintf(path, sizeof path, "%s", arguments[i] + 4);
  }
  if (path[0] == 0) return -1;
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
  qemu_plugin_register_atexit_cb(id, on_exit_of_guest, NULL);
  return 0;
}
