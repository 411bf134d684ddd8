"""State a mechanical system and its constraints, of any kind; get the motion, the reactions, and a certificate."""

from dalembert.model.model import Model

__all__ = ["Model"]
