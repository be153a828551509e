"""Pictures, films, pages and views in a browser."""
