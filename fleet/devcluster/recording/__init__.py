"""What a server remembers of its requests: journals for the judge, the audit log, metrics."""
