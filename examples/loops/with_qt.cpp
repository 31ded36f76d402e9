// Timers in an event loop of Qt.
#include <tickwheel/loops/qt.hpp>

#include <QCoreApplication>
#include <QEventLoop>
#include <QTimer>
#include <optional>

#include "story.h"

static std::optional<tickwheel::qt_attachment> timers;

static void end() {
    timers->detach();
    QCoreApplication::quit();
}

static void inside() {
    QEventLoop inner;
    QTimer::singleShot(30, &inner, SLOT(quit()));
    inner.exec();
}

int main(int argc, char **argv) {
    const QCoreApplication application(argc, argv);
    try {
        timers.emplace(story_begin(argc, argv, end, inside), [](int error) { story_failed(error, nullptr); });
        QCoreApplication::exec();
    } catch (const std::system_error &error) {
        story_refused(-error.code().value());
    }
    timers.reset();
    return story_end();
}
