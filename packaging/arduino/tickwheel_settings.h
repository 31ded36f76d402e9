/* Settings of Tickwheel for all sketches. With the Arduino IDE, edit this file in libraries/Tickwheel/src.
 * With PlatformIO, set them in platformio.ini, for example
 *
 *     build_flags = -DTW_TREE=1 -DTW_TICK_BITS=32 -DTW_WINDOWS=0
 *
 * The head of tickwheel.h lists them all. */
#ifndef TICKWHEEL_SETTINGS_H
#define TICKWHEEL_SETTINGS_H

#if defined(ARDUINO) || defined(ESP_PLATFORM)

/* The engine. 1: the tree, which takes little memory. 0: the wheel, for thousands of timers; its size
 * follows from TW_BITS and TW_LEVELS. */
#ifndef TW_TREE
#define TW_TREE 1
#endif

/* The width of ticks. 32: they wrap as millis() does, and a timer is less than 24 days ahead. 64: they
 * never wrap, and timers are larger. */
#ifndef TW_TICK_BITS
#define TW_TICK_BITS 32
#endif

/* What no sketch uses can be left out to save flash; remove the comment marks. */
/* #define TW_WINDOWS 0 */     /* tw_arm_within, tw_choose */
/* #define TW_PERIODIC 0 */    /* tw_arm_every */
/* #define TW_POLICIES 0 */    /* TW_BURST, TW_DELAY */
/* #define TW_OVERRUNS 0 */    /* tw_overruns */
/* #define TW_BUDGET 0 */      /* tw_interrupt, and limits on the work of tw_advance */
/* #define TW_CLEAR 0 */       /* tw_clear */
/* #define TW_LOCK_CHOICE 0 */ /* TW_UNLOCKED */
/* #define TW_OWNER_CHECK 0 */ /* -EBUSY for a node that is pending on another wheel (ticks of 64 bits) */
/* #define TW_VALIDATION 0 */  /* -EINVAL for null pointers and what was not initialised */

#endif

#endif
