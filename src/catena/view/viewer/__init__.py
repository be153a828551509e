"""What is seen of mechanisms: in a browser while they run, as a page, as a file for other tools, as a film."""
