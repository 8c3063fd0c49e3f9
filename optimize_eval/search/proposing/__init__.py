"""New texts: what proposers are sent and reply, who they are, and which of their proposals are of use."""
