"""The page that asks "same or different?": the items as it shows them, the questions, the server."""
