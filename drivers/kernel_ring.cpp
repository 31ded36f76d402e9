#include "kernel_ring.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace tickwheel::drivers {

namespace {

// Constants newer than Linux 5.15, as in kernel_ring.hpp.
constexpr std::uint32_t submit_all = 1u << 7;           // IORING_SETUP_SUBMIT_ALL, Linux 5.18
constexpr std::uint32_t flag_work = 1u << 9;            // IORING_SETUP_TASKRUN_FLAG, 5.19
constexpr std::uint32_t single_thread = 1u << 12;       // IORING_SETUP_SINGLE_ISSUER, 6.0
constexpr std::uint32_t work_in_enter = 1u << 13;       // IORING_SETUP_DEFER_TASKRUN, 6.1
constexpr std::uint32_t has_work = 1u << 2;             // IORING_SQ_TASKRUN, 5.19
constexpr std::uint32_t supports_no_iowait = 1u << 17;  // IORING_FEAT_NO_IOWAIT, 6.15
constexpr std::uint32_t no_iowait = 1u << 7;            // IORING_ENTER_NO_IOWAIT, 6.15

int setup(io_uring_params &params) {
    return static_cast<int>(::syscall(SYS_io_uring_setup, kernel_ring::room, &params));
}

long call_register(int fd, unsigned operation, void *arg, std::size_t count) {
    return ::syscall(SYS_io_uring_register, fd, operation, arg, count);
}

// Maps the errors of kernels and sandboxes to -ENOSYS if they lack a feature and to -EPERM if they forbid it.
int refusal(int error) {
    switch (error) {
    case EINVAL:
        return -ENOSYS;
    case EACCES:
        return -EPERM;
    default:
        return -error;
    }
}

// Maps a part of the ring's memory, which the kernel shares with this process. Null if there is no memory.
// The child of a fork inherits the mapping until it closes the ring. With MADV_DONTFORK the child could map
// other memory at that address before then, and closing the ring would unmap that.
void *map_part(int fd, std::size_t size, off_t which) {
    void *const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, which);
    return at == MAP_FAILED ? nullptr : at;
}

std::uint32_t *word_at(void *memory, std::uint32_t offset) {
    return reinterpret_cast<std::uint32_t *>(static_cast<char *>(memory) + offset);
}

std::uint32_t read(const std::uint32_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }
void publish(std::uint32_t *word, std::uint32_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }

}  // namespace

int kernel_ring::open() {
    io_uring_params params = {};
    params.flags = IORING_SETUP_R_DISABLED | submit_all | flag_work | single_thread | work_in_enter;
    const int fd = setup(params);
    if (fd < 0)
        return refusal(errno);
    fd_plus_1_ = fd + 1;
    enter_flags_ = (params.features & supports_no_iowait) != 0 ? no_iowait : 0;
    if (const int error = map(params); error != 0) {
        close();
        return error;
    }
    probe();
    return 0;
}

int kernel_ring::begin() {
    if (call_register(fd_plus_1_ - 1, IORING_REGISTER_ENABLE_RINGS, nullptr, 0) != 0)
        return refusal(errno);
    has_begun_ = true;
    return 0;
}

// The table that maps places in the queue to requests is filled once, here: request i is at place i.
int kernel_ring::map(const io_uring_params &as) {
    const std::size_t table_end = as.sq_off.array + as.sq_entries * sizeof(std::uint32_t);
    const std::size_t results_end = as.cq_off.cqes + as.cq_entries * sizeof(io_uring_cqe);
    queues_size_ = table_end > results_end ? table_end : results_end;
    requests_size_ = as.sq_entries * sizeof(io_uring_sqe);
    queues_ = map_part(fd_plus_1_ - 1, queues_size_, IORING_OFF_SQ_RING);
    requests_ = static_cast<io_uring_sqe *>(map_part(fd_plus_1_ - 1, requests_size_, IORING_OFF_SQES));
    if (queues_ == nullptr || requests_ == nullptr)
        return -ENOMEM;
    to_kernel_ = {word_at(queues_, as.sq_off.head), word_at(queues_, as.sq_off.tail), as.sq_entries - 1};
    from_kernel_ = {word_at(queues_, as.cq_off.head), word_at(queues_, as.cq_off.tail), as.cq_entries - 1};
    state_flags_ = word_at(queues_, as.sq_off.flags);
    results_ = reinterpret_cast<io_uring_cqe *>(word_at(queues_, as.cq_off.cqes));
    for (std::uint32_t i = 0; i < as.sq_entries; ++i)
        word_at(queues_, as.sq_off.array)[i] = i;
    return 0;
}

// If a sandbox forbids the probe, we assume that the kernel lacks the operation.
void kernel_ring::probe() {
    constexpr std::size_t asked = fetch_epoll_events + 1;
    alignas(io_uring_probe) char memory[sizeof(io_uring_probe) + asked * sizeof(io_uring_probe_op)] = {};
    const auto &answer = *reinterpret_cast<const io_uring_probe *>(memory);
    const bool is_answered = call_register(fd_plus_1_ - 1, IORING_REGISTER_PROBE, memory, asked) == 0;
    can_fetch_epoll_events_ =
        is_answered && (answer.ops[fetch_epoll_events].flags & IO_URING_OP_SUPPORTED) != 0;
}

void kernel_ring::close() {
    if (!is_open())
        return;
    if (requests_ != nullptr)
        ::munmap(requests_, requests_size_);
    if (queues_ != nullptr)
        ::munmap(queues_, queues_size_);
    ::close(fd_plus_1_ - 1);
    *this = {};
}

io_uring_sqe &kernel_ring::ask(std::uint8_t operation, std::uint64_t name) {
    const std::uint32_t tail = *to_kernel_.tail;
    io_uring_sqe &request = requests_[tail & to_kernel_.mask];
    std::memset(&request, 0, sizeof request);
    request.opcode = operation;
    request.user_data = name;
    // The kernel reads the request in `enter`, once the caller has filled it.
    publish(to_kernel_.tail, tail + 1);
    return request;
}

// If the kernel takes requests and a signal then interrupts the sleep, it still returns their number.
int kernel_ring::enter(bool sleeps) const {
    const std::uint32_t asked = *to_kernel_.tail - read(to_kernel_.head);
    const long taken = ::syscall(SYS_io_uring_enter, fd_plus_1_ - 1, asked, sleeps ? 1u : 0u,
                                 IORING_ENTER_GETEVENTS | enter_flags_, nullptr, std::size_t{0});
    if (taken < 0)
        return refusal(errno);
    return static_cast<std::uint32_t>(taken) == asked ? 0 : -EAGAIN;
}

bool kernel_ring::take(io_uring_cqe &result) {
    const std::uint32_t head = *from_kernel_.head;
    if (head == read(from_kernel_.tail))
        return false;
    result = results_[head & from_kernel_.mask];
    publish(from_kernel_.head, head + 1);
    return true;
}

bool kernel_ring::has_untaken() const { return *to_kernel_.tail != read(to_kernel_.head); }

bool kernel_ring::is_idle() const {
    return !has_untaken() && *from_kernel_.head == read(from_kernel_.tail) &&
           (read(state_flags_) & (has_work | IORING_SQ_CQ_OVERFLOW)) == 0;
}

}  // namespace tickwheel::drivers
