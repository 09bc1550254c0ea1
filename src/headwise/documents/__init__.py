"""Documents: files of many formats as texts with inline markup, which are translated and put back in place."""
