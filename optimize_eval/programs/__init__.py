"""Other people's programs: started, fed, read within limits, and ended with all that they started."""
