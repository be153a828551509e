"""Parametric mechanisms, shared by tests, benchmarks, documentation and demos.

Every function returns a Mechanism whose described pose closes all joints to rounding. Unless stated otherwise, gravity
is 9.81 m/s^2 along -z, planar mechanisms move in the plane x = 0, and all bodies are at rest.
"""

from .bodies import free_body as free_body
from .bodies import heavy_top as heavy_top
from .chains import cart_pole as cart_pole
from .chains import catenary_chain as catenary_chain
from .chains import closed_chain as closed_chain
from .chains import double_pendulum as double_pendulum
from .chains import pendulum as pendulum
from .chains import segmented_chain as segmented_chain
from .chains import spinning_chain as spinning_chain
from .chains import tree as tree
from .lattices import ladder as ladder
from .lattices import net as net
from .linkages import four_bar as four_bar
from .linkages import n_four_bar as n_four_bar
from .linkages import scissor as scissor
from .linkages import slider_crank as slider_crank
from .machines import andrews_squeezer as andrews_squeezer
from .machines import flyball_governor as flyball_governor
from .robots import humanoid as humanoid
from .robots import quadruped as quadruped
from .spatial import bricard as bricard
from .spatial import delta_robot as delta_robot
from .spatial import stewart_platform as stewart_platform
from .walkers import minitaur as minitaur
from .walkers import minitaur_leg as minitaur_leg
from .walkers import standing_leg as standing_leg
from .walkers import strandbeest as strandbeest
