"""Reading files: sentence pairs, labelled texts and pictures, one file per format."""
