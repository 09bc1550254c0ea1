"""The tour of the page in a real browser, against the model that it shows."""
