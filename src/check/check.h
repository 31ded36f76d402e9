/* The checking build (CMake: TW_CHECK=ON): the library detects misuse of nodes and runtimes, and stops the
 * program with a message. See node_misuse.cpp for nodes, src/runtime/registry.cpp for runtimes. Other builds
 * contain none of this.
 *
 * Any thread. No function changes the caller's errno. None uses malloc, so the library still works inside an
 * allocator: the first megabyte of memory is static, and more comes from mmap. */
#define TW_PORT_CHECKS

struct tw;
struct tw_node;

#ifdef __cplusplus
extern "C" {
#endif
void tw_port_check_wheel_init(const struct tw *w);
void tw_port_check_node_init(const struct tw_node *node, const void *callback);
void tw_port_check_to_arm(const struct tw_node *node);
void tw_port_check_used(const struct tw *w, const struct tw_node *node);
void tw_port_check_kept(const struct tw_node *node);
void tw_port_check_pending(const struct tw_node *node);
void tw_port_check_idle(const struct tw_node *node);
void tw_port_check_some(const struct tw *w);

const void *tw_port_check_enter(const void *address);
void tw_port_check_leave(const void *const *former);

/* For src/runtime. The wheel exists from tw_port_check_wheel_lasts to tw_port_check_wheel_ends. For all other
 * wheels we can only guess whether they still exist. */
void tw_port_check_wheel_lasts(const struct tw *w);
void tw_port_check_wheel_ends(const struct tw *w);

/* What happened, and where in the code. Messages leave out a fact without a place. */
struct tw_port_fact {
    const char *what;
    const void *code;
};
const void *tw_port_check_caller(void);
void tw_port_check_warn(const char *wrong, const void *runtime, const struct tw_port_fact *facts,
                        size_t count);
__attribute__((noreturn)) void tw_port_check_stop(const char *wrong, const void *runtime,
                                                  const struct tw_port_fact *facts, size_t count);
void *tw_port_check_memory(size_t size);

/* Registers the function that finds the text of a label on a runtime's wheel, for messages. The checks call
 * it with any locks held, so it must wait for none. */
typedef const char *tw_port_label_text(const struct tw *w, unsigned label);
void tw_port_check_labels(tw_port_label_text *text_of);
#ifdef __cplusplus
}
#endif
