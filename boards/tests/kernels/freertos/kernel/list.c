/* There is nothing in the stand-in for a list. */
typedef int no_list;
