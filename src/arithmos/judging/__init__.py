"""What a stored run is worth: which runs count in a cell, which are solved, and the numbers made of them."""
