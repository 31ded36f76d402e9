// Runs a sketch for twelve seconds of its own time, over the moment at which millis() wraps.
#include "Arduino.h"

#include <cstdio>

void setup();
void loop();

static uint32_t now = UINT32_MAX - 5000;
static int changes = 0;

SerialPort Serial;
void SerialPort::println(const char *text) { std::puts(text); }
uint32_t millis() { return now; }
void pinMode(int, int) {}
void digitalWrite(int, int) { ++changes; }

int main() {
    setup();
    for (int ms = 0; ms < 12000; ++ms) {
        ++now;
        loop();
    }
    std::printf("%d blinks in 12 s\n", changes);
}
