"""The argument of the paper that catena grew out of, rerun here and now: rivals, experiments and one report.

J. Brüdigam and Z. Manchester, "Linear-Time Variational Integrators in Maximal Coordinates", WAFR 2020.
The product never imports this package; `python -m catena paper` finds it by its entry point.
"""
