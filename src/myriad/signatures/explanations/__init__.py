"""What each part of an image contributes to the score of a class, and its picture."""
