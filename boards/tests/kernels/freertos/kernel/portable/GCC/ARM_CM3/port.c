/* The interrupts of the stand-in, which never come. */
void vPortSVCHandler(void);
void xPortPendSVHandler(void);
void xPortSysTickHandler(void);

void vPortSVCHandler(void) {}
void xPortPendSVHandler(void) {}
void xPortSysTickHandler(void) {}
