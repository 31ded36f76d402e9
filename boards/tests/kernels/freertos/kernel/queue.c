/* There is nothing in the stand-in for a queue. */
typedef int no_queue;
