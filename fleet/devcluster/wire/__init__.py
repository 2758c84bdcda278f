"""Requests and answers, and the words of refusals."""
