"""The portable contract of a harness: loaded strictly, compiled to what is enforced."""
