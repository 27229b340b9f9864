"""Small models as the chapters train them."""
