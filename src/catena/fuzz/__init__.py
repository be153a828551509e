"""A campaign of random mechanisms that looks for lies: results that are wrong and do not say so."""

from .members import Case as Case
from .members import member as member
