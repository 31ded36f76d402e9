// sketch MS PIN [MS:LEVEL[:WHERE]...]: runs a sketch for so many milliseconds of simulated time, past the
// moment at which millis() wraps, and prints what the sketch does and when. Each further word is an edge of
// the pin, which causes an interrupt. WHERE says when in its millisecond the edge comes: before loop(), or
// within the first call of "millis" or "read" after that.
#include "Arduino.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

void setup();
void loop();

namespace {

constexpr uint32_t begin = UINT32_MAX - 5000;
uint32_t now = begin;

int pin, level = HIGH;
void (*handler)();
char **edges;  // still to come

void print(const char *what) { std::printf("%u %s\n", static_cast<unsigned>(now - begin), what); }

bool is_due(const char *where) {
    if (*edges == nullptr || std::strtoul(*edges, nullptr, 10) > now - begin)
        return false;
    const char *const second = std::strchr(std::strchr(*edges, ':') + 1, ':');
    return std::strcmp(second == nullptr ? "" : second + 1, where) == 0;
}

void interrupt_if_due(const char *where) {
    while (is_due(where)) {
        level = std::strchr(*edges++, ':')[1] - '0';
        if (handler != nullptr)
            handler();
    }
}

}  // namespace

SerialPort Serial;
void SerialPort::println(const char *text) { print(text); }

void pinMode(int of, int mode) {
    if (of == pin && mode != INPUT_PULLUP)
        std::exit(2);
}
void digitalWrite(int of, int to) {
    if (of != LED_BUILTIN)
        std::exit(2);
    print(to == HIGH ? "on" : "off");
}
int digitalRead(int of) {
    const int was = of == pin ? level : LOW;
    interrupt_if_due("read");
    return was;
}
int digitalPinToInterrupt(int of) { return of == pin ? 1 : -1; }
void attachInterrupt(int interrupt, void (*of)(), int mode) {
    if (interrupt == 1 && mode == CHANGE)
        handler = of;
}
uint32_t millis() {
    interrupt_if_due("millis");
    return now;
}

int main(int, char **words) {
    const uint32_t end = begin + static_cast<uint32_t>(std::strtoul(words[1], nullptr, 10));
    pin = std::atoi(words[2]);
    edges = words + 3;
    for (setup(); now != end;) {
        ++now;
        interrupt_if_due("");
        loop();
    }
    return *edges == nullptr ? 0 : 3;  // all edges have come
}
