"""An experiment while it is carried out, and the journal that it leaves."""
