"""A small shop: money, pricing rules and a cart."""
