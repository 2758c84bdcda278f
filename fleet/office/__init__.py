"""The coordinator's office: who stands for it, and who carries out what was decided in it."""
