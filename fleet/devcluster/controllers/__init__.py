"""What the control plane does by itself: garbage collection, namespaces that end, compaction, what a CRD sets up."""
