"""The judge: carries the lines of journals to the checkers and says held, broken, or not judged."""
