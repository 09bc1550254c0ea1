"""Model families, assembled from the parts in `nn`; model folders, published models and exports."""
