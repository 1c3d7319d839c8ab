"""The screens of the Studio: the thread under study, comparisons, and the dialogs laid over them."""
