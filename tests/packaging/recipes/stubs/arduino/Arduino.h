// The part of Arduino's core that the sketches use; main.cpp simulates it.
#pragma once
#include <cstddef>
#include <cstdint>

enum { LOW, HIGH };
enum { INPUT, OUTPUT, INPUT_PULLUP };
enum { CHANGE = 2, LED_BUILTIN = 13 };

void pinMode(int pin, int mode);
void digitalWrite(int pin, int level);
int digitalRead(int pin);
int digitalPinToInterrupt(int pin);
void attachInterrupt(int interrupt, void (*handler)(), int mode);
uint32_t millis();

struct SerialPort {
    void begin(unsigned long) {}
    void println(const char *text);
};
extern SerialPort Serial;
