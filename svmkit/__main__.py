"""python -m svmkit"""

from svmkit.cli import main

main()
