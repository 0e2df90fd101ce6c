# SPDX-License-Identifier: Apache-2.0
"""`python -m mote_kernels` is the tool `mote`."""

import sys

from ._tool import main

sys.exit(main())
