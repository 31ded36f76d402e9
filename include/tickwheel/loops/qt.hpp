// tickwheel/loops/qt.hpp - the timers of a runtime in an event loop of Qt 5 or 6. Moc is not needed.
//
//     tickwheel::qt_attachment timers(rt, on_failed);
//     QCoreApplication::exec();              // the callbacks of the runtime's timers run here
//     ...
//     timers.detach();                       // or its destructor
//     tw_runtime_free(rt);
//
//   Owners     The runtime (native() of a tickwheel::runtime, too) is yours; it has the driver "timerfd" and
//              is not started. Detach before you free it. In a callback, detach and deleteLater() instead of
//              destroying the attachment, as with any QObject in an event of its own.
//   Threads    The attachment belongs to the thread that makes it, which needs an event loop
//              (QCoreApplication or QThread); detach there. Timers may be armed on any thread.
//   The loop   A callback may run a QEventLoop or a dialog; no timer of the runtime fires inside it.
//   Exceptions must not leave callbacks, because none may pass through Qt.
#ifndef TICKWHEEL_LOOPS_QT_HPP
#define TICKWHEEL_LOOPS_QT_HPP

#include <tickwheel/runtime.h>

#include <QEvent>
#include <QSocketNotifier>
#include <cerrno>
#include <functional>
#include <system_error>
#include <utility>

namespace tickwheel {

class qt_attachment : public QSocketNotifier {
  public:
    using on_failed = std::function<void(int error)>;

    // Makes the thread's event loop dispatch the runtime. If a dispatch fails, this class stops watching and
    // calls failed(error), with a negative errno: detach, and find out why. Throws
    // std::system_error with the error of tw_runtime_fd, or EINVAL if `failed` is empty.
    qt_attachment(tw_runtime *rt, on_failed failed, QObject *parent = nullptr)
        : QSocketNotifier(descriptor_of(rt, failed), Read, parent), rt_(rt), failed_(std::move(failed)) {}

    // Does nothing if the runtime is not attached.
    void detach() {
        setEnabled(false);
        rt_ = nullptr;
    }

  protected:
    bool event(QEvent *event) override {
        if (event->type() != QEvent::SockAct)
            return QSocketNotifier::event(event);
        if (rt_ != nullptr)
            dispatch();
        return true;
    }

  private:
    static int descriptor_of(tw_runtime *rt, const on_failed &failed) {
        const int fd = failed ? tw_runtime_fd(rt) : -EINVAL;
        if (fd < 0)
            throw std::system_error(-fd, std::generic_category(), "qt_attachment");
        return fd;
    }

    // The descriptor stays readable during the dispatch, so this function stops watching it; otherwise an
    // event loop inside a callback would not sleep.
    void dispatch() {
        setEnabled(false);
        const int error = tw_runtime_dispatch(rt_);
        if (rt_ == nullptr)
            return;  // a callback has detached the runtime
        if (error == 0)
            setEnabled(true);
        else
            failed_(error);
    }

    tw_runtime *rt_;  // null: not attached
    on_failed failed_;
};

}  // namespace tickwheel

#endif
