/* Debounces a button between pin 2 and ground: a press or a release counts when the pin has been still for
 * 20 ms. Each edge interrupts, and starts the timer again. A button pressed for a second counts as held. */
#include <tickwheel.h>

static const int BUTTON = 2; /* a pin that can interrupt */
static const tw_tick STILL = 20, HELD = 1000;

static struct tw wheel;
static struct tw_node still, held;
static bool is_pressed;

/* A tick is a millisecond. Counts from the wheel's last tick, so millis() may wrap. Interrupts may call this. */
static tw_tick present() {
    const tw_tick last = tw_now(&wheel);
    return last + (uint32_t)(millis() - (uint32_t)last);
}

/* Part of the present tick has passed, so waiting for all of STILL takes one more tick. */
static void on_edge() { tw_arm_at(&wheel, &still, present() + STILL + 1); }

static void on_held(struct tw_node *, void *) { Serial.println("held"); }

static void on_still(struct tw_node *, void *) {
    const bool was_pressed = is_pressed;
    is_pressed = digitalRead(BUTTON) == LOW;
    if (is_pressed == was_pressed)
        return; /* a disturbance */
    digitalWrite(LED_BUILTIN, is_pressed ? HIGH : LOW);
    Serial.println(is_pressed ? "pressed" : "released");
    if (is_pressed)
        tw_arm_at(&wheel, &held, present() + HELD + 1);
    else
        tw_cancel(&wheel, &held);
}

void setup() {
    pinMode(BUTTON, INPUT_PULLUP);
    pinMode(LED_BUILTIN, OUTPUT);
    Serial.begin(115200);
    tw_init(&wheel, millis(), 0);
    tw_node_init(&still, on_still, NULL);
    tw_node_init(&held, on_held, NULL);
    attachInterrupt(digitalPinToInterrupt(BUTTON), on_edge, CHANGE);
}

void loop() { tw_advance(&wheel, present(), TW_UNBOUNDED); }
