"""The controller that experiments are made with where no other is named."""
