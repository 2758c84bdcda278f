"""Bodies in protobuf, which typed clients of built-in kinds send by default: decoded, never written."""
