/* Blinks the LED of the board forever, and prints a message after ten seconds. A tick is a millisecond. */
#include <tickwheel.h>

static struct tw wheel;
static struct tw_node blink, message;

/* Counted from the wheel's last tick, so millis() may wrap, which it does after 49 days. */
static tw_tick present() {
    const tw_tick last = tw_now(&wheel);
    return last + (uint32_t)(millis() - (uint32_t)last);
}

static void on_blink(struct tw_node *, void *) {
    static bool lit;
    lit = !lit;
    digitalWrite(LED_BUILTIN, lit ? HIGH : LOW);
}

static void on_message(struct tw_node *, void *text) { Serial.println((const char *)text); }

void setup() {
    pinMode(LED_BUILTIN, OUTPUT);
    Serial.begin(115200);
    tw_init(&wheel, millis(), 0);
    tw_node_init(&blink, on_blink, NULL);
    tw_node_init(&message, on_message, (void *)"ten seconds have passed");
    tw_arm_every(&wheel, &blink, tw_now(&wheel) + 500, 500, TW_COALESCE, 0);
    tw_arm_after(&wheel, &message, 10000);
}

void loop() { tw_advance(&wheel, present(), TW_UNBOUNDED); }
