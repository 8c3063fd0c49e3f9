"""Other people's programs: started, fed, and ended with all that they started; or called where they run."""
