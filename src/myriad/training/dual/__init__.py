"""Training in the dual with a certificate: the top-k SVM and one-vs-rest."""
