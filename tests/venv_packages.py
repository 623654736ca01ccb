# SPDX-License-Identifier: Apache-2.0
"""Importing this makes the packages of .venv importable, where ./dev installs what Python suites need, if this Python is
of the same version. A package that is installed elsewhere comes first."""
import glob
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.extend(glob.glob(os.path.join(
    ROOT, ".venv", "lib", f"python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")))
