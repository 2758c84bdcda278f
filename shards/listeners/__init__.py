"""Who is told of what changes in a store, or was there before they came, and to which keys it leads them."""
