// tickwheel/loops/asio.hpp - the timers of a runtime in a loop of Asio.
//
//     tickwheel::asio_attachment timers(loop.get_executor(), rt, on_failed);
//     loop.run();                            // the callbacks of the runtime's timers run here
//     ...
//     timers.detach();                       // or its destructor
//     tw_runtime_free(rt);
//
// Asio comes from Boost if TICKWHEEL_BOOST_ASIO is defined. C++14.
//
//   Owners     Loop and runtime are yours; the runtime (native() of a tickwheel::runtime, too) has the
//              driver "timerfd" and is not started. Detach before you free either. A callback may detach,
//              and may destroy the attachment.
//   Threads    If several threads run the loop, pass a strand instead of its executor, and attach and detach
//              on that. Timers may be armed on any thread.
//   The loop   An attached runtime keeps run() going, even if no timer is pending. A callback may run the
//              loop; no timer of the runtime fires inside that call.
//   Exceptions may leave callbacks of the C interface: they come out of run(), which may be called again.
#ifndef TICKWHEEL_LOOPS_ASIO_HPP
#define TICKWHEEL_LOOPS_ASIO_HPP

#include <tickwheel/runtime.h>

#ifdef TICKWHEEL_BOOST_ASIO
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#else
#include <asio/any_io_executor.hpp>
#include <asio/posix/stream_descriptor.hpp>
#endif
#include <cerrno>
#include <functional>
#include <memory>
#include <system_error>
#include <utility>

namespace tickwheel {

#ifdef TICKWHEEL_BOOST_ASIO
namespace asio_used = ::boost::asio;
using asio_error = ::boost::system::error_code;
#else
namespace asio_used = ::asio;
using asio_error = ::asio::error_code;
#endif

class asio_attachment {
  public:
    using on_failed = std::function<void(int error)>;

    // Makes the loop dispatch the runtime. If waiting or a dispatch fails, this class stops watching and
    // calls failed(error), with a negative errno: detach, and find out why. Throws std::system_error with the
    // error of tw_runtime_fd, or EINVAL if `failed` is empty, and what Asio throws.
    asio_attachment(const asio_used::any_io_executor &executor, tw_runtime *rt, on_failed failed)
        : watch_(std::make_shared<watch>(executor, rt, std::move(failed))) {
        wait(watch_);
    }
    ~asio_attachment() { detach(); }
    asio_attachment(const asio_attachment &) = delete;
    asio_attachment &operator=(const asio_attachment &) = delete;

    // Does nothing if the runtime is not attached.
    void detach() { watch_->end(); }

  private:
    using descriptor = asio_used::posix::stream_descriptor;

    // The state that a wait in the loop still needs when the attachment is gone.
    struct watch {
        watch(const asio_used::any_io_executor &executor, tw_runtime *runtime, on_failed function)
            : rt(runtime), failed(std::move(function)), ready(executor, descriptor_of(rt, failed)) {}
        ~watch() { end(); }
        watch(const watch &) = delete;
        watch &operator=(const watch &) = delete;

        bool is_attached() const { return ready.is_open(); }

        // Releases the descriptor without closing it, because it belongs to the runtime.
        void end() {
            if (is_attached())
                ready.release();
        }

        tw_runtime *rt;
        on_failed failed;
        descriptor ready;
    };

    static int descriptor_of(tw_runtime *rt, const on_failed &failed) {
        const int fd = failed ? tw_runtime_fd(rt) : -EINVAL;
        if (fd < 0)
            throw std::system_error(-fd, std::generic_category(), "asio_attachment");
        return fd;
    }

    static void wait(const std::shared_ptr<watch> &w) {
        w->ready.async_wait(descriptor::wait_read,
                            [w](const asio_error &error) { dispatch(w, -error.value()); });
    }

    static void dispatch(const std::shared_ptr<watch> &w, int error) {
        if (!w->is_attached())
            return;  // detached meanwhile
        try {
            error = error == 0 ? tw_runtime_dispatch(w->rt) : error;
        } catch (...) {
            go_on(w, 0);
            throw;
        }
        go_on(w, error);
    }

    static void go_on(const std::shared_ptr<watch> &w, int error) {
        if (!w->is_attached())
            return;  // a callback has detached the runtime
        if (error == 0)
            wait(w);
        else
            w->failed(error);
    }

    std::shared_ptr<watch> watch_;
};

}  // namespace tickwheel

#endif
