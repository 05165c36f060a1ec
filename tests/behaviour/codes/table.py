"""What raises each error code, through a door that a user has. The modules beside this one fill the table."""

from support.shown import Scenarios

raises = Scenarios()
