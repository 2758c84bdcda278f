"""Who may do what: tokens, RBAC, and the reviews that ask about both.

Left out, as no controller needs them: client certificates, impersonation, webhooks, the check against privilege
escalation when a role is written, and legacy token secrets.
"""
