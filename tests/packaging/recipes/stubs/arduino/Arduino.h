// Of Arduino's core what a sketch uses here; time is the test's.
#pragma once
#include <cstddef>
#include <cstdint>

enum { LOW, HIGH, OUTPUT, LED_BUILTIN = 13 };
void pinMode(int pin, int mode);
void digitalWrite(int pin, int level);
uint32_t millis();

struct SerialPort {
    void begin(unsigned long) {}
    void println(const char *text);
};
extern SerialPort Serial;
