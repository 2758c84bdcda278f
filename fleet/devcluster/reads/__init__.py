"""Gets, lists and watches: options, selectors, pages, and which state they show."""
